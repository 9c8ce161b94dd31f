/** Calls of a chaos run to gateways that are up: a seeded mix at a steady pace, and bursts. It records each, and judges only response and policy revision. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Accounts, AGENTS, BURST_CONSUMERS, BURST_LIMIT, MINUTE_CONSUMERS } from './accounts.ts'
import { now } from './backend.ts'
import { type Got, jsonOf, type Sent, send } from './http.ts'
import { type Random, seeded } from './random.ts'
import type { Kind, RunRecord } from './record.ts'
import { type Member, type System, TENANT } from './system.ts'

/** Calls a second of each kind; those at their limit make about 1.5 times of what they may. */
const PACE: Readonly<Partial<Record<Kind, number>>> = {
  proxy: 40,
  side: 10,
  rest: 20,
  mcp: 20,
  list: 5,
  minute: 9,
}
const BURST_CALL_MS = 150
const BURST_PAUSE_MS = 120
/** Calls without a response yet; beyond it, calls are skipped. */
const MAX_PENDING = 500
const TICK_MS = 10
const MAX_DETAIL = 200

export interface Load {
  readonly skipped: () => number
  /** Resolves when every call has ended. */
  stop(): Promise<void>
}

interface Prepared extends Sent {
  readonly path: string
  readonly id: string
  readonly ok: (response: Got) => boolean
}

let calls = 0

/** @param rate share of the usual pace */
export function startLoad(system: System, accounts: Accounts, record: RunRecord, rate: number): Load {
  const random = seeded(record.seed)
  const kinds = Object.entries(PACE).flatMap(([kind, pace]) => Array<Kind>(pace).fill(kind as Kind))
  const revisions = new Revisions(record)
  const loops: Promise<unknown>[] = []
  const pending = new Set<Promise<unknown>>()
  let stopping = false
  let skipped = 0

  function dispatch(kind: Kind): void {
    const member = upOf(system.gateways, random)
    if (member === undefined || pending.size >= MAX_PENDING) {
      skipped++
      return
    }
    const call = runCall(member, kind, prepare(kind, accounts, random), record, revisions)
    pending.add(call)
    call.finally(() => pending.delete(call))
  }

  async function steady(): Promise<void> {
    const beganAt = performance.now()
    for (let sent = 0; !stopping; await sleep(TICK_MS)) {
      const due = ((performance.now() - beganAt) / 1000) * kinds.length * rate
      for (; sent < due; sent++) dispatch(kinds[random.below(kinds.length)]!)
    }
  }

  async function burst(consumer: string): Promise<void> {
    while (!stopping) {
      const member = upOf(system.gateways, random)
      if (member !== undefined) {
        const call = keyed(accounts, consumer, `limited/${BURST_CALL_MS}`, true)
        await runCall(member, 'burst', call, record, revisions)
      }
      await sleep(random.between(0, (2 * BURST_PAUSE_MS) / rate))
    }
  }

  loops.push(steady())
  for (const consumer of BURST_CONSUMERS)
    for (let caller = 0; caller < 2 * BURST_LIMIT; caller++) loops.push(burst(consumer))
  return {
    skipped: () => skipped,
    async stop() {
      stopping = true
      await Promise.all(loops)
      await Promise.all(pending)
    },
  }
}

export function upOf(members: readonly Member[], random: Random): Member | undefined {
  const up = members.filter(member => member.up)
  return up[random.below(up.length)]
}

async function runCall(
  member: Member,
  kind: Kind,
  call: Prepared,
  record: RunRecord,
  revisions: Revisions,
): Promise<void> {
  const { path, id, ok, ...sent } = call
  const startedAt = now()
  const announced = revisions.of(member)
  const response = await send(`${member.url}${path}`, {
    ...sent,
    headers: { ...sent.headers, 'x-request-id': id },
  })
  const good = ok(response)
  record.calls.push({
    kind,
    member: member.name,
    id,
    startedAt,
    endedAt: now(),
    status: response.status,
    ok: good,
    detail: good && response.status === 200 ? '' : response.text.slice(0, MAX_DETAIL),
  })
  revisions.check(member, response, announced)
  if (kind !== 'list' && isMetered(response)) record.metered.add(id)
}

/** The newest policy that a response of each gateway named: no call that began later is decided by an older one. */
class Revisions {
  readonly #newest = new Map<string, number>()
  readonly #record: RunRecord

  constructor(record: RunRecord) {
    this.#record = record
  }

  of({ name }: Member): number {
    return this.#newest.get(name) ?? 0
  }

  check({ name }: Member, { headers }: Got, announced: number): void {
    const revision = Number(/^chaos-(\d+)$/.exec(String(headers['x-policy-revision']))?.[1] ?? 0)
    if (revision > (this.#newest.get(name) ?? 0)) this.#newest.set(name, revision)
    if (revision > 0 && revision < announced)
      this.#record.violations.push(
        `${name} decided by policy ${revision} a call that began after one was decided by ${announced}.`,
      )
  }
}

/** Calls of an authenticated caller are metered whatever their outcome; those refused before that are not. */
function isMetered(response: Got): boolean {
  const { status } = response
  if (status === 503) return /policy_unavailable|backend_unreachable/.test(response.text)
  return status === 429 ? /quota_exceeded/.test(response.text) : status !== 0 && status !== 401
}

function prepare(kind: Kind, accounts: Accounts, random: Random): Prepared {
  switch (kind) {
    case 'proxy':
      return keyed(accounts, 'open', `open/${random.below(10)}`)
    case 'side':
      return keyed(accounts, 'side', `side/${random.below(10)}`)
    case 'minute':
      return keyed(accounts, MINUTE_CONSUMERS[random.below(MINUTE_CONSUMERS.length)]!, 'limited/0', true)
    case 'list':
      return tokened(accounts, random, '/mcp/v1/tools', {}, got => got.text.includes('chaos_getItem'))
    case 'rest':
      return tokened(accounts, random, '/mcp/tools/call', toolCall(random), () => true)
    case 'mcp':
      return tokened(
        accounts,
        random,
        '/mcp',
        { jsonrpc: '2.0', id: 1, method: 'tools/call', params: toolCall(random) },
        got => jsonOf(got)?.result?.isError === false,
      )
    default:
      throw new Error(`${kind} is not part of the steady mix`)
  }
}

export function toolCall(random: Random): object {
  return { name: 'chaos_getItem', arguments: { id: String(random.below(10)) } }
}

export function requestId(consumer: string): string {
  return `${consumer}.${calls++}`
}

function keyed(accounts: Accounts, consumer: string, path: string, limited = false): Prepared {
  return {
    path: `/t/${TENANT}/${path}`,
    id: requestId(consumer),
    headers: { 'x-api-key': accounts.keys.get(consumer)! },
    ok: ({ status, text }) =>
      status === 200 || (limited && status === 429 && text.includes('quota_exceeded')),
  }
}

function tokened(
  accounts: Accounts,
  random: Random,
  path: string,
  body: object,
  ok: (response: Got) => boolean,
): Prepared {
  const agent = AGENTS[random.below(AGENTS.length)]!
  return {
    path,
    id: requestId(agent),
    method: 'POST',
    headers: { authorization: `Bearer ${accounts.tokens.get(agent)}`, accept: 'application/json' },
    body,
    ok: response => response.status === 200 && ok(response),
  }
}
