/** Runs the rows of a table as tests: fault at its moment, calls, state, recovery, nothing lost; FAULTS_REPORT gets the results. */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { BUSY_FACTOR, IS_LONG_CHECK } from '../fixtures/check.ts'
import { type Row, rowsOf, type Table } from './matrix.ts'
import type { Called, Seen, World } from './world.ts'

/** In the normal suite the machine may be busy with other files. */
const RECOVERY_MS = 3_000 * BUSY_FACTOR
const HOLD_MS = 1_500
/** How long the state may take to be reported while the fault lasts; at the start, metrics are served last. */
const NOTICE_MS = { start: 20_000, running: 8_000 }
const START_MS = 20_000
const DRAIN_MS = 15_000
const CALLERS = 4
const PAUSE_MS = 25

export interface RunOptions {
  /** Why the rows are skipped, with the hint that installs the missing server; undefined where they can run. */
  readonly skip?: string | undefined
  readonly open: () => Promise<World>
}

export function runTable(table: Table, { skip, open }: RunOptions): void {
  const rows = rowsOf(table).filter(row => IS_LONG_CHECK || row.isShort)
  describe.skipIf(skip !== undefined)(
    `${table.dependency}${skip === undefined ? '' : ` (skipped: ${skip})`}`,
    () => {
      let world: World
      beforeAll(async () => {
        world = await open()
        await world.subject.start()
        await recovered(world, START_MS)
      }, 240_000)
      afterAll(() => world?.close(), 60_000)

      for (const row of rows) {
        const run = async (): Promise<void> => {
          const startedAt = performance.now()
          let recoveryMs: number | undefined
          try {
            recoveryMs = await runRow(world, row)
            report(table, row, 'pass', recoveryMs, performance.now() - startedAt)
          } catch (error) {
            report(
              table,
              row,
              (error as Error).message.slice(0, 600),
              recoveryMs,
              performance.now() - startedAt,
            )
            await repair(world)
            throw error
          }
        }
        if (row.open === undefined) it(row.name, run, 180_000)
        else it.fails(`${row.name} (waits for: ${row.open})`, run, 180_000)
      }
    },
  )
}

/** @returns milliseconds from the return of the dependency to the recovery; undefined when the process had to end */
async function runRow(world: World, row: Row): Promise<number | undefined> {
  await world.begin(row)
  if (row.moment === 'start') return atStart(world, row)
  if (row.moment === 'draining') return whileDraining(world, row)
  const load = new Load(world, row.moment === 'load' ? CALLERS : 0)
  try {
    await sleep(row.moment === 'load' ? 300 : 0)
    const leave = await world.enter?.(row)
    load.mark()
    await world.dependency.apply(row.fault)
    await leave?.()
    if (row.moment !== 'load') load.grow(1)
    await hold(world, row, load)
    return await release(world, row, load)
  } finally {
    await load.end()
  }
}

async function release(world: World, row: Row, load: Load): Promise<number> {
  load.ignore()
  await world.dependency.restore()
  const tookMs = await recovered(world, RECOVERY_MS + 1_000)
  await load.end()
  load.check(row)
  expect(world.subject.running, 'the process runs').toBe(true)
  expect(tookMs, 'milliseconds to the recovery').toBeLessThanOrEqual(RECOVERY_MS)
  await world.verify(row)
  return tookMs
}

/** Waits as long as the fault lasts, and at least until its state is reported. */
async function hold(world: World, row: Row, load: Load): Promise<void> {
  const from = performance.now()
  await expectState(world, row)
  const holdMs = row.fault === 'back after 60 s' ? 60_000 : row.fault === 'back after 1 s' ? 1_000 : HOLD_MS
  await sleep(Math.max(0, from + holdMs - performance.now()))
  for (const until = performance.now() + world.maxCallMs; load.count === 0 && performance.now() < until; )
    await sleep(50)
  expect(world.subject.running, 'the process runs during the fault').toBe(true)
  expect(load.count, 'calls that returned during the fault').toBeGreaterThan(0)
}

async function expectState(world: World, row: Row): Promise<void> {
  if (row.state === 'any') return
  const wanted = row.state === 'faulty'
  let seen: Seen | undefined
  const noticeMs = row.moment === 'start' ? NOTICE_MS.start : NOTICE_MS.running
  for (const until = performance.now() + noticeMs; performance.now() < until; await sleep(50)) {
    seen = await world.see()
    if (seen.isDegraded === wanted && seen.isCounted === wanted) return
  }
  throw new Error(`the state is not reported as ${row.state}: ${JSON.stringify(seen)}`)
}

async function atStart(world: World, row: Row): Promise<number> {
  await world.subject.end('SIGTERM')
  await world.dependency.apply(row.fault)
  const started = world.subject.start()
  started.catch(() => {})
  const load = new Load(world, 1)
  try {
    // listening, or as far as it gets without the dependency
    for (const until = performance.now() + START_MS; performance.now() < until; await sleep(50)) {
      if (!world.subject.running) await started
      if ((await world.see()).ready !== 0) break
    }
    load.mark()
    await hold(world, row, load)
    return await release(world, row, load)
  } finally {
    await load.end()
  }
}

async function whileDraining(world: World, row: Row): Promise<undefined> {
  const arrived = (world.longCalls?.() ?? 0) + 2
  const calls = [world.longCall?.() ?? world.call(), world.longCall?.() ?? world.call()]
  if (world.longCalls === undefined) await sleep(100)
  else await vi.waitUntil(() => world.longCalls!() >= arrived, { timeout: START_MS, interval: 10 })
  const ending = world.subject.end('SIGTERM')
  await world.dependency.apply(row.fault)
  if (row.fault === 'back after 1 s') {
    await sleep(1_000)
    await world.dependency.restore()
  }
  const timeout = sleep(DRAIN_MS, 'still running' as const, { ref: false })
  const code = await Promise.race([ending, timeout])
  const got = await Promise.all(calls)
  await world.dependency.restore()
  expect(code, 'exit code').toBe(0)
  for (const called of got) expectPermitted(row, called, world)
  await world.subject.start()
  await recovered(world, START_MS)
  await world.verify(row)
}

/** Resolves once a call and the state are fine again. @returns milliseconds that took */
async function recovered(world: World, withinMs: number): Promise<number> {
  const from = performance.now()
  let called: Called | undefined
  let seen: Seen | undefined
  while (performance.now() - from < withinMs) {
    called = await world.call()
    if (world.isFine(called)) {
      seen = await world.see()
      if (seen.ready === 200 && !seen.isDegraded && !seen.isCounted) return performance.now() - from
    }
    await sleep(40)
  }
  throw new Error(
    `not recovered after ${withinMs} ms: the last call got ${called?.status} ${called?.text.slice(0, 200)}, state ${JSON.stringify(seen ?? (await world.see()))}`,
  )
}

/** A failed row must not fail the next ones. */
async function repair(world: World): Promise<void> {
  await world.dependency.restore()
  if (!world.subject.running) await world.subject.start().catch(() => {})
  const well = await recovered(world, 5_000).catch(() => undefined)
  if (well !== undefined) return
  await world.subject.end('SIGKILL')
  await world.subject.start().catch(() => {})
  await recovered(world, START_MS).catch(() => {})
}

function expectPermitted(row: Row, called: Called, world: World): void {
  const { status, retryAfterSecs, text, tookMs } = called
  // until a process is ready, it responds 503
  const permitted = row.moment === 'start' ? [...row.calls, 503] : row.calls
  expect(permitted, `status of a call during the fault: ${text.slice(0, 300)}`).toContain(status)
  if (status === 429 || status === 503)
    expect(retryAfterSecs, `Retry-After of: ${text}`).toBeGreaterThanOrEqual(1)
  expect(tookMs, 'milliseconds that a call took during the fault').toBeLessThanOrEqual(world.maxCallMs)
}

/** Callers that call one after the other, and what they got. */
class Load {
  readonly #world: World
  readonly #callers: Promise<void>[] = []
  #isEnded = false
  #isMarked = false
  #isIgnored = false
  #got: Called[] = []

  constructor(world: World, callers: number) {
    this.#world = world
    this.grow(callers)
  }

  grow(callers: number): void {
    for (let at = 0; at < callers; at++) this.#callers.push(this.#run())
  }

  /** What returns from here on belongs to the fault. */
  mark(): void {
    this.#isMarked = true
    this.#got = []
  }

  /** What is sent from here on no longer does. */
  ignore(): void {
    this.#isIgnored = true
  }

  get count(): number {
    return this.#got.length
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await Promise.all(this.#callers)
  }

  check(row: Row): void {
    for (const called of this.#got) expectPermitted(row, called, this.#world)
  }

  async #run(): Promise<void> {
    while (!this.#isEnded) {
      const isCounted = !this.#isIgnored
      const called = await this.#world.call()
      // one that waited until the dependency was back may succeed
      const isLate = this.#isIgnored && this.#world.isFine(called)
      if (isCounted && this.#isMarked && !isLate) this.#got.push(called)
      await sleep(PAUSE_MS)
    }
  }
}

function report(
  table: Table,
  row: Row,
  result: string,
  recoveryMs: number | undefined,
  tookMs: number,
): void {
  const path = process.env.FAULTS_REPORT
  if (path === undefined) return
  const { fault, moment, open } = row
  const line = { dependency: table.dependency, fault, moment, open, result, recoveryMs, tookMs }
  appendFileSync(path, `${JSON.stringify(line)}\n`)
}
