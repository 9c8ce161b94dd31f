/** Gives V8's background threads a low priority, so that the threads that serve calls do not wait for them. */
import { opendirSync, readFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'

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
