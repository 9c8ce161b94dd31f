/** Loaded into a gateway by `--import`: reports each turn of a serving thread that used much CPU time. It changes nothing there. */
import { appendFileSync, openSync, readSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

/** Shorter turns are not written. */
const REPORTED_MS = 2
const EVERY_MS = 1

/** CPU time of this thread in milliseconds; wall time would measure the other processes of the machine. */
function cpuClock() {
  if (typeof process.threadCpuUsage === 'function')
    return () => {
      const { user, system } = process.threadCpuUsage()
      return (user + system) / 1_000
    }
  const file = openSync('/proc/thread-self/schedstat', 'r')
  const bytes = Buffer.alloc(128)
  const cell = new Int32Array(new SharedArrayBuffer(4))
  return () => {
    // Linux accounts for a running thread every 4 ms, and whenever it sleeps
    Atomics.wait(cell, 0, 0, 0.001)
    return Number.parseInt(bytes.latin1Slice(0, readSync(file, bytes, 0, bytes.length, 0)), 10) / 1e6
  }
}

// of all threads, only those that serve calls are started with the settings
if (workerData?.settings !== undefined) {
  const cpu = cpuClock()
  let before = cpu()
  setInterval(() => {
    const used = cpu() - before
    if (used >= REPORTED_MS)
      appendFileSync(process.env.STALL_LOG, `${workerData.thread} ${used.toFixed(2)}\n`)
    before = cpu()
  }, EVERY_MS).unref()
}
