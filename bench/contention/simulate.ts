/**
 * Simulates threads that make calls whose accesses to shared lines are given: a discrete-event simulation over `Caches`, with the spin locks
 * of the kernel. It draws no random numbers: the same calls and options give the same figures.
 */
import { getOrSet } from '../../src/model/once-per.ts'
import { CACHE_LINES, Caches, COSTS, type Costs } from './caches.ts'

/** `acquire` and `release` are those of a lock, at `address`; a `pause` is time without an access. */
export type Step =
  | { readonly kind: 'pause'; readonly ns: number }
  | {
      readonly kind: 'load' | 'store' | 'rmw' | 'acquire' | 'release'
      readonly address: number
      /** Under which waiting is counted. */
      readonly field: string
    }

/** The next call of a thread. */
export type NextCall = (thread: number) => readonly Step[]

export interface LockTimes {
  /** How long a lock is tried before its thread sleeps (`LOCK_SPINS`), and how long it sleeps then (`LOCK_SLEEP_MS`). */
  readonly spinNs: number
  readonly sleepNs: number
}

/** As measured on an AMD EPYC (`lock-times.ts`): the attempts of one call, and a sleep of 0.1 ms with what the timers of Linux add. */
export const LOCK_TIMES: LockTimes = { spinNs: 300, sleepNs: 155_000 }

export interface SimulationOptions {
  readonly threads: number
  readonly callsPerThread: number
  /** Calls at the start that are not counted: lines are not in any cache then. Default a tenth. */
  readonly warmUpCalls?: number
  readonly costs?: Costs
  readonly cacheLines?: number
  readonly lockTimes?: LockTimes
  /** Default 64. */
  readonly lineBytes?: number
}

export interface SimulationResult {
  readonly calls: number
  readonly callsPerSec: number
  /** Throughput in parts of what the threads would reach with every line in their own caches and every lock free: N times one such thread. */
  readonly efficiency: number
  /** Share of the threads' time that the accesses to a field waited for its line; together what the efficiency lacks to 1. */
  readonly byField: ReadonlyMap<string, number>
  /** Sleeps for a lock that was not released in time, per call. */
  readonly sleepsPerCall: number
}

export function simulate(next: NextCall, options: SimulationOptions): SimulationResult {
  return new Simulation(next, options).run()
}

interface Thread {
  readonly index: number
  steps: readonly Step[]
  at: number
  /** When its next access happens. */
  atNs: number
  /** When the current step began. */
  stepAtNs: number
  calls: number
  /** When its first counted call began. */
  countedAtNs: number
  /** When its last call ended. */
  endedAtNs: number
  /** When it began to try the lock of its current step; -1: it does not try one again. */
  spinsSinceNs: number
}

class Simulation {
  readonly #next: NextCall
  readonly #options: Required<SimulationOptions>
  readonly #caches: Caches
  readonly #threads: readonly Thread[]
  readonly #locked = new Set<number>()
  /** Threads that try a lock of this line and have a copy of it: a write wakes them. */
  readonly #spinning = new Map<number, Set<Thread>>()
  readonly #byField = new Map<string, number>()
  #waitedNs = 0
  #sleeps = 0

  constructor(next: NextCall, options: SimulationOptions) {
    this.#next = next
    this.#options = {
      warmUpCalls: Math.ceil(options.callsPerThread / 10),
      costs: COSTS,
      cacheLines: CACHE_LINES,
      lockTimes: LOCK_TIMES,
      lineBytes: 64,
      ...options,
    }
    const { threads, costs, cacheLines } = this.#options
    this.#caches = new Caches(threads, costs, cacheLines)
    this.#threads = Array.from({ length: threads }, (_, index) => ({
      index,
      steps: next(index),
      at: 0,
      atNs: 0,
      stepAtNs: 0,
      calls: 0,
      countedAtNs: 0,
      endedAtNs: 0,
      spinsSinceNs: -1,
    }))
  }

  /** Until the first thread has made all its calls. */
  run(): SimulationResult {
    const { callsPerThread, warmUpCalls } = this.#options
    for (;;) {
      let thread = this.#threads[0]!
      for (const other of this.#threads) if (other.atNs < thread.atNs) thread = other
      const step = thread.steps[thread.at]
      if (step !== undefined) this.#make(thread, step)
      else {
        thread.endedAtNs = thread.atNs
        if (++thread.calls === warmUpCalls) thread.countedAtNs = thread.atNs
        if (thread.calls === callsPerThread) return this.#result()
        thread.steps = this.#next(thread.index)
        thread.at = 0
      }
    }
  }

  #make(thread: Thread, step: Step): void {
    if (step.kind === 'pause') {
      thread.atNs += step.ns
      return this.#end(thread, step.ns, '')
    }
    const { address, field, kind } = step
    const line = Math.floor(address / this.#options.lineBytes)
    if (kind === 'acquire') return this.#tryLock(thread, address, line, field)
    const atomic = kind === 'release' || kind === 'rmw'
    this.#access(thread, line, kind !== 'load', atomic)
    if (kind === 'release') this.#locked.delete(address)
    this.#end(thread, this.#caches.ownNs(atomic), field)
  }

  #access(thread: Thread, line: number, write: boolean, atomic: boolean): void {
    thread.atNs = this.#caches.access(thread.index, line, write, atomic, thread.atNs)
    if (!write) return
    for (const other of this.#spinning.get(line) ?? [])
      if (other !== thread) other.atNs = Math.min(other.atNs, thread.atNs)
  }

  /** As `lock` and `lockSlow` of assembly/window-table.ts: an exchange, then loads until the lock looks free. */
  #tryLock(thread: Thread, address: number, line: number, field: string): void {
    const { spinNs, sleepNs } = this.#options.lockTimes
    const again = thread.spinsSinceNs >= 0
    if (again) this.#access(thread, line, false, false)
    if (!again || !this.#locked.has(address)) this.#access(thread, line, true, true)
    if (!this.#locked.has(address)) {
      this.#locked.add(address)
      this.#spinning.get(line)?.delete(thread)
      thread.spinsSinceNs = -1
      return this.#end(thread, this.#caches.ownNs(true), field)
    }
    if (!again) thread.spinsSinceNs = thread.atNs
    const untilNs = thread.spinsSinceNs + spinNs
    if (thread.atNs < untilNs) {
      getOrSet(this.#spinning, line, () => new Set<Thread>()).add(thread)
      thread.atNs = untilNs
    } else {
      this.#spinning.get(line)?.delete(thread)
      thread.spinsSinceNs = -1
      thread.atNs += sleepNs
      if (this.#counts(thread)) this.#sleeps++
    }
  }

  /** @param ownNs what the step takes without waiting */
  #end(thread: Thread, ownNs: number, field: string): void {
    const waitedNs = thread.atNs - thread.stepAtNs - ownNs
    thread.at++
    thread.stepAtNs = thread.atNs
    if (waitedNs <= 0 || !this.#counts(thread)) return
    this.#waitedNs += waitedNs
    this.#byField.set(field, (this.#byField.get(field) ?? 0) + waitedNs)
  }

  #counts(thread: Thread): boolean {
    return thread.calls >= this.#options.warmUpCalls
  }

  #result(): SimulationResult {
    const counted = this.#threads.filter(thread => this.#counts(thread))
    let [calls, callsPerSec, totalNs] = [0, 0, 0]
    for (const { calls: all, atNs, countedAtNs, endedAtNs } of counted) {
      const made = all - this.#options.warmUpCalls
      calls += made
      if (made > 0) callsPerSec += (made * 1e9) / (endedAtNs - countedAtNs)
      totalNs += atNs - countedAtNs
    }
    return {
      calls,
      callsPerSec,
      efficiency: 1 - this.#waitedNs / totalNs,
      byField: new Map([...this.#byField].map(([field, ns]) => [field, ns / totalNs])),
      sleepsPerCall: this.#sleeps / calls,
    }
  }
}
