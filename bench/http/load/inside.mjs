/**
 * Loaded into a gateway or rung that is measured (`node --import`): responds to its parent's questions about what only the process itself can
 * report.
 */
import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapStatistics, writeHeapSnapshot } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

/** A sample each millisecond; the grain is taken off again. */
const GRAIN_MS = 1
const FLOOR_EVERY_MS = 100

let delay
let utilization
function loop() {
  if (delay === undefined) {
    delay = monitorEventLoopDelay({ resolution: GRAIN_MS })
    delay.enable()
    utilization = performance.eventLoopUtilization()
  }
  const { active } = performance.eventLoopUtilization(utilization)
  const reported = {
    heldMs: Math.max(0, delay.max / 1e6 - GRAIN_MS),
    activeMs: active,
    cpuUs: cpu(),
  }
  delay.reset()
  utilization = performance.eventLoopUtilization()
  return reported
}

let pauses
/** Collections since the question before: `[begin as ms since 1970, ms]`. */
function collections() {
  if (pauses === undefined) {
    pauses = []
    new PerformanceObserver(list => {
      for (const { startTime, duration } of list.getEntries())
        pauses.push([performance.timeOrigin + startTime, duration])
    }).observe({ entryTypes: ['gc'] })
  }
  return pauses.splice(0)
}

/** After four collections; needs --expose-gc. */
async function memory() {
  for (let round = 0; round < 4; round++) {
    globalThis.gc?.()
    await sleep(50)
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heapBytes: heapUsed, externalBytes: external, rssBytes: rss }
}

let floorBytes
/** What was in use at the lowest since the question before: what a collection left. None is forced. */
function heapFloor() {
  if (floorBytes === undefined)
    setInterval(() => {
      floorBytes = Math.min(floorBytes, getHeapStatistics().used_heap_size)
    }, FLOOR_EVERY_MS).unref()
  const reported = floorBytes ?? getHeapStatistics().used_heap_size
  floorBytes = Number.POSITIVE_INFINITY
  return Number.isFinite(reported) ? reported : getHeapStatistics().used_heap_size
}

let collected
/** Bytes in use on the heap; less what was in use before is what was allocated, while no collection runs. */
function allocated() {
  if (collected === undefined) {
    collected = 0
    new PerformanceObserver(list => {
      collected += list.getEntries().length
    }).observe({ entryTypes: ['gc'] })
  }
  return { bytes: getHeapStatistics().used_heap_size, collections: collected }
}

/** Of all threads, µs; finer than the ticks that the kernel shows other processes. */
function cpu() {
  const { user, system } = process.cpuUsage()
  return user + system
}

const QUESTIONS = {
  allocated,
  cpu,
  loop,
  heapFloor,
  collections,
  memory,
  heapSnapshot: file => writeHeapSnapshot(file),
}

if (isMainThread && process.channel !== undefined) {
  process.on('message', async ({ question, about }) => {
    process.send({ response: await QUESTIONS[question](about) })
  })
  process.channel.unref()
  // a run that was killed cannot say so
  process.once('disconnect', () => process.exit(1))
}
