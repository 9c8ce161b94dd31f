/** What a process asks of V8 at its start: garbage collections, the priority of background threads, and the bounds of inlining. */

import { opendirSync, readFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

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
    if (looks > 0 && utilization <= MAX_UTILIZATION) return void collectGarbage()
    if (++looks < MAX_LOOKS) timer = setTimeout(look, nextMs).unref()
  }
  return () => clearTimeout(timer)
}

/** As the inspector does it: young generation and heap, 30 to 100 ms. */
export async function collectGarbage(): Promise<void> {
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

/**
 * Of what a collection leaves in use; V8 starts the next one when the heap has grown by that much. Its default grows with the memory of the
 * machine, up to 300: on 24 GiB a control plane with 38 MiB in use reached 360 MiB of resident memory after 1,800 changes and went on
 * growing, which operators and limits of containers take for a leak. With 50 it stays at 268 MiB.
 */
const GROWTH_PERCENT = 50

/** Once, at the start. For control planes: collections come more often, and calls of a gateway would wait for them. */
export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}

/**
 * Added to the nice value of the process. The threads compile and collect garbage; where they share a processor with the thread that serves
 * calls, each keeps it for slices of 4 ms. On one processor at half of its capacity, p99 in the first half minute was 11.5 ms without a lower
 * priority and is 2.2 ms with this one (medians of 8 runs); later, when most is compiled, they are equal. With more, code is compiled too late
 * under full load: with 19, a gateway took seven seconds in place of three to its full rate.
 */
const LOWER_BY = 5
const TASKS = '/proc/self/task'
/** Newer versions of Node name their threads. */
const NAMED = /^(?:V8Worker|DelayedTaskSche)/
const DEFAULT_POOL = 4
const POOL_OPTION = /--v8[-_]pool[-_]size=(\d+)/g

/** In the main thread, before it starts others: all threads share those of V8. Only on Linux, where threads have priorities; without effect where it is not permitted. */
export function lowerBackgroundPriority(): void {
  if (!isMainThread || process.platform !== 'linux') return
  try {
    const nice = Math.min(getPriority() + LOWER_BY, constants.priority.PRIORITY_LOW)
    for (const id of backgroundThreads()) setPriority(id, nice)
  } catch {
    // a thread that has ended, no /proc, or a system that forbids it: the threads then have the priority of the process
  }
}

/** Thread ids. */
function backgroundThreads(): readonly number[] {
  const others = threadIds().filter(id => id !== process.pid)
  const named = others.filter(id => NAMED.test(readFileSync(`${TASKS}/${id}/comm`, 'utf8')))
  // Node starts them first: the one for delayed tasks, then the pool
  return named.length > 0 ? named : others.slice(0, 1 + poolSize())
}

/** In the order of their start, which `readdirSync` would lose: it sorts names. */
function threadIds(): readonly number[] {
  const tasks = opendirSync(TASKS)
  const ids: number[] = []
  for (let entry = tasks.readSync(); entry !== null; entry = tasks.readSync()) ids.push(Number(entry.name))
  tasks.closeSync()
  return ids
}

function poolSize(): number {
  const options = [process.env.NODE_OPTIONS ?? '', ...process.execArgv].join(' ')
  return Number([...options.matchAll(POOL_OPTION)].at(-1)?.[1] ?? DEFAULT_POOL)
}

/**
 * Bytecode that is inlined into one function, by default 920, and of one inlined function, by default 460. A call runs through some 150 short
 * functions of stages, MCP and HTTP, more than fit below the defaults: with these it takes 5 % less processor time and allocates 5 % less,
 * since objects that do not leave a function are not made. Larger values gain nothing more.
 */
const FLAGS = ['--max-inlined-bytecode-size-cumulative=2500', '--max-inlined-bytecode-size=800']

/** Once, at the start: it holds for all threads of the process, and for functions that are optimized later. */
export function raiseInliningLimits(): void {
  for (const flag of FLAGS) setFlagsFromString(flag)
}
