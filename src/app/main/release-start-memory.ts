/** Collects garbage in a thread that is idle after its start, to release memory that the start needed. It collects at most once. */
import { performance } from 'node:perf_hooks'

/** The thread that compiles documents ends 5 s after its last job. */
const DEFAULT_LOOKS = { firstMs: 6_000, nextMs: 2_000 }
const MAX_LOOKS = 30
/** Part of the time since the look before in which the event loop ran; above it, calls would wait for the collection (30 to 100 ms). */
const MAX_UTILIZATION = 0.05

/**
 * The start fills the young generation of V8 to its largest size, 32 MiB, which V8 then keeps; the collection that the inspector offers
 * shrinks it. A thread under load needs it at that size and keeps it.
 * @param looks when the load is looked at
 * @returns cancels it
 */
export function releaseStartMemory({ firstMs, nextMs } = DEFAULT_LOOKS): () => void {
  let before = performance.eventLoopUtilization()
  let looks = 0
  let timer = setTimeout(look, firstMs).unref()
  function look(): void {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    // the first figure is that of the start
    if (looks > 0 && utilization <= MAX_UTILIZATION) return void collect()
    if (++looks < MAX_LOOKS) timer = setTimeout(look, nextMs).unref()
  }
  return () => clearTimeout(timer)
}

async function collect(): Promise<void> {
  try {
    const { Session } = await import('node:inspector')
    const session = new Session()
    session.connect()
    // later: within its callback, which runs in the collection, a disconnect would block the thread without end
    session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()))
  } catch {
    // a Node that was built without the inspector keeps the memory
  }
}
