/** The faults of a chaos run: what breaks, how it recovers, and which calls need the broken part. */
import { renameSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { altered, manifestWith } from '../fixtures/policy/inputs.ts'
import { jsonOf, send } from './http.ts'
import type { Kind } from './record.ts'
import type { Planned } from './schedule.ts'
import { endMember, type Member, type System, startMember } from './system.ts'

interface Fault {
  /** Resolves when the dependency is available again. @returns findings, each a sentence */
  run(system: System, planned: Planned): Promise<readonly string[]>
  /** Kinds of calls that need the broken part, so that they may fail during the fault; calls to a process that is down always may. */
  readonly needs: readonly Kind[]
  /** Time after the fault in which such calls may still fail. */
  readonly recoveryMs: number
}

/** A dependency that is available again is used again within this time. */
const RECOVERY_MS = 3_000
/** Longer than any pause of the circuit breaker of an upstream, which doubles with each failed probe, up to 2 s. */
const MAX_BREAKER_MS = 4_000
const POLICY_MS = 15_000
const TERMINATE_EVERY_MS = 250

const AT_MAIN: readonly Kind[] = ['proxy', 'rest', 'mcp', 'minute', 'burst', 'session']
const SESSIONS: readonly Kind[] = ['session', 'stream']
const CHANGES: readonly Kind[] = ['change']
/** The last process of each role is never ended, so that memory and descriptors are seen over the whole run; a lone one is. */
const mortal = (members: readonly Member[]): readonly Member[] =>
  members.length > 1 ? members.slice(0, -1) : members
const targetOf = <T>(items: readonly T[], target: number): T => items[target % items.length]!

let revisions = 0

export const FAULTS = {
  'gateway-kill': killing('gateways'),
  'control-kill': killing('controls'),
  'gateway-rolling': rolling('gateways'),
  'control-rolling': rolling('controls'),
  'redis-restart': during(
    system => system.redis.kill(),
    system => system.redis.start(),
    SESSIONS,
  ),
  'redis-hang': during(
    system => system.links.redis.hang(),
    system => system.links.redis.recover(),
    SESSIONS,
  ),
  'redis-reset': repeatedly(system => system.links.redis.reset(), SESSIONS),
  'postgres-restart': during(
    system => system.postgres.crash(),
    system => system.postgres.resume(),
    CHANGES,
  ),
  'postgres-terminate': repeatedly(terminateBackends, CHANGES),
  'postgres-hang': during(
    system => system.links.postgres.hang(),
    system => system.links.postgres.recover(),
    CHANGES,
  ),
  'kafka-stop': during(
    system => system.kafka.kill(),
    system => system.kafka.start(),
    [],
  ),
  'provider-hang': during(
    system => system.links.provider.hang(),
    system => system.links.provider.recover(),
    [],
  ),
  'control-cut': during(
    (system, target) => targetOf(system.links.control, target).hang(),
    (system, target) => targetOf(system.links.control, target).recover(),
    [],
  ),
  'backend-reset': during(
    system => system.backends.main.reset(true),
    system => system.backends.main.reset(false),
    AT_MAIN,
    MAX_BREAKER_MS,
  ),
  'backend-slow': during(
    system => system.backends.main.slow(1_500),
    system => system.backends.main.slow(0),
    [],
  ),
  'policy-swap': {
    recoveryMs: 0,
    needs: [],
    run: swapPolicy,
  },
} satisfies Readonly<Record<string, Fault>>

export type FaultKind = keyof typeof FAULTS
export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[]

export function faultOf(kind: string): Fault {
  return FAULTS[kind as FaultKind]
}

function during(
  begin: (system: System, target: number) => unknown,
  end: (system: System, target: number) => unknown,
  needs: Fault['needs'],
  recoveryMs = RECOVERY_MS,
): Fault {
  return {
    needs,
    recoveryMs,
    async run(system, { durationMs, target }) {
      await begin(system, target)
      await sleep(durationMs)
      await end(system, target)
      return []
    },
  }
}

function repeatedly(act: (system: System) => unknown, needs: Fault['needs']): Fault {
  return {
    needs,
    recoveryMs: RECOVERY_MS,
    async run(system, { durationMs }) {
      for (const until = Date.now() + durationMs; Date.now() < until; await sleep(TERMINATE_EVERY_MS))
        await act(system)
      return []
    },
  }
}

function killing(role: 'gateways' | 'controls'): Fault {
  return {
    recoveryMs: 0,
    needs: [],
    async run(system, { durationMs, target }) {
      const member = targetOf(mortal(system[role]), target)
      await endMember(member, 'SIGKILL')
      await sleep(durationMs)
      await startMember(member)
      return []
    },
  }
}

/** One after the other, each ready before the next one ends. */
function rolling(role: 'gateways' | 'controls'): Fault {
  return {
    recoveryMs: 0,
    needs: [],
    async run(system) {
      for (const member of mortal(system[role])) {
        await endMember(member, 'SIGTERM')
        await startMember(member)
      }
      return []
    },
  }
}

async function terminateBackends(system: System): Promise<void> {
  const client = new pg.Client({ connectionString: system.databaseUrl })
  await client.connect()
  await client
    .query(
      'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname is not null',
    )
    .finally(() => client.end())
}

/** The shipped rules under another revision. */
async function swapPolicy(system: System): Promise<readonly string[]> {
  const revision = `chaos-${++revisions}`
  const manifest = manifestWith(content => {
    content.revision = revision
  })
  writeFileSync(`${system.policyFile}.next`, altered({ '.manifest': manifest }))
  renameSync(`${system.policyFile}.next`, system.policyFile)
  const headers = { authorization: `Bearer ${system.adminToken}` }
  const late = new Set(system.gateways)
  for (const until = Date.now() + POLICY_MS; late.size > 0 && Date.now() < until; await sleep(100))
    for (const gateway of late) {
      const shown = jsonOf(await send(`${gateway.url}/admin/policy`, { headers }))
      if (shown?.revision === revision) late.delete(gateway)
    }
  return [...late].map(({ name }) => `${name} does not serve policy ${revision} after ${POLICY_MS / 1000} s.`)
}
