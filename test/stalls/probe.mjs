/** Loaded into a gateway by `--import`: writes the CPU time of long turns of a serving thread to STALL_LOG. */
import { appendFileSync, openSync, readSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'

/** Shorter turns are not written. */
const REPORTED_MS = 2
const EVERY_MS = 1
/** Longer turns are profiled, where STALL_PROFILE names a folder. */
const PROFILED_MS = 18

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

/** Profiles the thread. @returns a function that writes the samples of the last `ms` milliseconds as a file of Chromium's format */
function profiler(folder) {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: 200 })
  session.post('Profiler.start')
  let count = 0
  return ms => {
    session.post('Profiler.stop', (_, { profile }) => {
      const last = lastSamples(profile, ms + EVERY_MS)
      writeFileSync(
        join(folder, `${workerData.thread}-${count++}-${ms.toFixed(0)}ms.cpuprofile`),
        JSON.stringify(last),
      )
    })
    session.post('Profiler.start')
  }
}

function lastSamples(profile, ms) {
  let at = profile.endTime
  let first = profile.samples.length
  while (first > 0 && at > profile.endTime - ms * 1_000) at -= profile.timeDeltas[--first]
  return {
    ...profile,
    startTime: at,
    samples: profile.samples.slice(first),
    timeDeltas: profile.timeDeltas.slice(first),
  }
}

// of all threads, only those that serve calls are started with the settings
if (workerData?.settings !== undefined) {
  const cpu = cpuClock()
  let before = cpu()
  const folder = process.env.STALL_PROFILE
  const writeProfile = folder === undefined ? () => {} : profiler(folder)
  setInterval(() => {
    const used = cpu() - before
    if (used >= REPORTED_MS)
      appendFileSync(process.env.STALL_LOG, `${workerData.thread} ${used.toFixed(2)}\n`)
    if (used >= PROFILED_MS) writeProfile(used)
    before = cpu()
  }, EVERY_MS).unref()
}
