/** Simulates threads that ask the main thread over a port, and threads that share a pool for fdatasync. It is deterministic and knows no cache line. */
import { Jitter, Random } from './random.ts'

export interface AskOptions {
  readonly threads: number
  /** CPU time of a call in its thread, without asking; times 0.5 to 1.5. */
  readonly privateUs: number
  /** CPU time of the main thread for one request, and of the thread that asks. */
  readonly serviceUs: number
  readonly askUs: number
  /** Calls of a thread that wait for a response at the same time. */
  readonly pending: number
  readonly durationMs: number
  readonly seed: number
  /** Whether the next call of a thread asks. */
  readonly asks: (thread: number, nowUs: number, random: Random) => boolean
}

export interface AskResult {
  readonly callsPerSec: number
  /** In parts of what the threads would reach if no call asked. */
  readonly efficiency: number
  readonly asksPerSec: number
  /** Share of the time in which the main thread responds. */
  readonly mainUtilization: number
  readonly p99WaitUs: number
}

interface Thread {
  readonly jitter: Jitter
  atUs: number
  /** When the responses of its pending requests arrive, the earliest first: they arrive in the order of the requests. */
  readonly responsesAtUs: number[]
}

/** Every thread has calls waiting to be served. Counted after the first third of the time. */
export function simulateAsks(options: AskOptions): AskResult {
  const { threads: count, privateUs, serviceUs, askUs, pending, durationMs, asks } = options
  const random = new Random(options.seed)
  const threads = Array.from(
    { length: count },
    (): Thread => ({ jitter: new Jitter(random), atUs: 0, responsesAtUs: [] }),
  )
  const endUs = durationMs * 1000
  const fromUs = endUs / 3
  const waits: number[] = []
  let [mainFreeAtUs, mainBusyUs, calls] = [0, 0, 0]
  for (;;) {
    let index = 0
    for (let other = 1; other < count; other++) if (threads[other]!.atUs < threads[index]!.atUs) index = other
    const thread = threads[index]!
    if (thread.atUs >= endUs) break
    const counts = thread.atUs >= fromUs
    const { responsesAtUs } = thread
    while (responsesAtUs.length > 0 && responsesAtUs[0]! <= thread.atUs) responsesAtUs.shift()
    if (responsesAtUs.length >= pending) {
      thread.atUs = responsesAtUs.shift()!
      continue
    }
    thread.atUs += privateUs * thread.jitter.next()
    if (counts) calls++
    if (!asks(index, thread.atUs, random)) continue
    const beganUs = Math.max(thread.atUs, mainFreeAtUs)
    mainFreeAtUs = beganUs + serviceUs
    responsesAtUs.push(mainFreeAtUs)
    if (counts) {
      mainBusyUs += serviceUs
      waits.push(mainFreeAtUs - thread.atUs)
    }
    thread.atUs += askUs
  }
  const seconds = (endUs - fromUs) / 1e6
  const callsPerSec = calls / seconds
  waits.sort((a, b) => a - b)
  return {
    callsPerSec,
    efficiency: callsPerSec / ((count * 1e6) / privateUs),
    asksPerSec: waits.length / seconds,
    mainUtilization: Math.min(1, mainBusyUs / (endUs - fromUs)),
    p99WaitUs: waits[Math.floor(waits.length * 0.99)] ?? 0,
  }
}

/** As `CACHE_MS` of src/data-plane/sessions/threads/joined-store.ts: how long a thread knows a session. */
const KNOWN_US = 1_000_000

/** Calls of sessions that are all used alike. `sticky`: a session has one connection, and so one thread. */
export function sessionAsks(sessions: number, threads: number, sticky: boolean): AskOptions['asks'] {
  const knownUntilUs = Array.from({ length: threads }, () => new Float64Array(sessions))
  const own = Math.max(1, Math.floor(sessions / threads))
  return (thread, nowUs, random) => {
    const session = random.below(sticky ? own : sessions)
    const known = knownUntilUs[thread]!
    if (known[session]! > nowUs) return false
    known[session] = nowUs + KNOWN_US
    return true
  }
}

export interface SyncResult {
  /** From one fdatasync of a thread to the next one: an event is on disk after at most this and one more. */
  readonly periodMs: number
  readonly poolUtilization: number
}

/** Threads of libuv's pool, one for the whole process (`UV_THREADPOOL_SIZE`). */
const POOL = 4
/** As `SYNC_EVERY_MS` of src/data-plane/metering/spool/spool-writer.ts. */
const SYNC_EVERY_MS = 3

/** Each thread syncs its spool, at most every 3 ms, on the pool that all threads share. */
export function simulateSyncs(threads: number, syncMs: number): SyncResult {
  const dueAtMs = Array.from({ length: threads }, (_, at) => (at * SYNC_EVERY_MS) / threads)
  const freeAtMs = new Array<number>(POOL).fill(0)
  const rounds = 400
  for (let sync = 0; sync < threads * rounds; sync++) {
    const thread = dueAtMs.indexOf(Math.min(...dueAtMs))
    const worker = freeAtMs.indexOf(Math.min(...freeAtMs))
    freeAtMs[worker] = Math.max(dueAtMs[thread]!, freeAtMs[worker]!) + syncMs
    // the next one is due 3 ms after the end
    dueAtMs[thread] = freeAtMs[worker]! + SYNC_EVERY_MS
  }
  const periodMs = Math.max(...freeAtMs) / rounds
  return { periodMs, poolUtilization: (threads * syncMs) / periodMs / POOL }
}
