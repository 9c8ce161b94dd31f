/**
 * Part `start`: how long the built program takes until it is ready, and what it holds in memory when no one calls. It sends no load, and warms
 * nothing up: what a cold start takes is measured.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spread } from '../../statistics.ts'
import type { Part } from './part.ts'
import { copyToolSets, gatewayEnv, serve, startControlPlane } from './toolgate.ts'

/** Until an idle process has returned the memory of its start (`release-start-memory.ts`). */
const SETTLE_MS = 12_000

interface Started {
  readonly readyS: number
  readonly rssMiB: number
}

interface Kind {
  /** Behind `http/start/`. */
  readonly id: string
  readonly name: string
  /** Behind `http/memory/`; absent where another kind stands for it. */
  readonly memory?: string
  readonly starts: Started[]
}

export async function measureStart(part: Part): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-start-'))
  const gateway: Kind = {
    id: 'gateway',
    name: 'gateway role, one worker',
    memory: 'gateway/idle',
    starts: [],
  }
  const first: Kind = { id: 'all/first', name: 'all in one, first start', starts: [] }
  const again: Kind = {
    id: 'all/again',
    name: 'all in one, later starts',
    memory: 'all/idle',
    starts: [],
  }
  try {
    part.progress('start: a control plane for the gateway role')
    const toolSets = copyToolSets(dir, part.backend).path
    const control = await startControlPlane(dir)
    try {
      for (let round = 1; round <= part.rounds; round++) {
        part.progress(`start: gateway role, round ${round} of ${part.rounds}`)
        const name = `gateway-${round}`
        const env = { ...gatewayEnv(control, dir, name), TOOLSETS: toolSets, WORKERS: '1' }
        gateway.starts.push(await once(env, SETTLE_MS))
        write(part, gateway)
      }
    } finally {
      await control.stop()
    }
    for (let round = 1; round <= part.rounds; round++) {
      part.progress(`start: all in one, round ${round} of ${part.rounds}`)
      const env = { DATA_DIR: join(dir, `all-${round}`), LOG_LEVEL: 'error' }
      first.starts.push(await once(env, 0))
      write(part, first)
      again.starts.push(await once(env, SETTLE_MS))
      write(part, again)
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
  show(part, [gateway, first, again])
}

/** As a user starts it: on all processors, without what measures from inside. */
async function once(env: Readonly<Record<string, string>>, settleMs: number): Promise<Started> {
  const served = await serve('any', env, { questions: false })
  try {
    await sleep(settleMs)
    return { readyS: served.readyMs / 1000, rssMiB: served.rssMiB() }
  } finally {
    await served.stop()
  }
}

function write(part: Part, { id, memory, starts }: Kind): void {
  const lower = { better: 'lower' } as const
  const readyS = starts.map(one => one.readyS)
  part.write({ suite: 'http/start', case: id, metric: 'start', unit: 's', ...lower, samples: readyS })
  if (memory === undefined) return
  const rssMiB = starts.map(one => one.rssMiB)
  part.write({ suite: 'http/memory', case: memory, metric: 'memory', unit: 'MiB', ...lower, samples: rssMiB })
}

function show(part: Part, kinds: readonly Kind[]): void {
  part.show(
    `From the start to the ready line, and resident memory ${SETTLE_MS / 1000} s later`,
    ['what', 'ready s', 'least–most', 'idle MiB'],
    kinds.map(({ name, memory, starts }) => {
      const ready = spread(starts.map(({ readyS }) => readyS))
      return [
        name,
        ready.median.toFixed(2),
        `${ready.min.toFixed(2)}–${ready.max.toFixed(2)}`,
        memory === undefined ? '' : String(Math.round(spread(starts.map(({ rssMiB }) => rssMiB)).median)),
      ]
    }),
    [1, 2, 3],
  )
}
