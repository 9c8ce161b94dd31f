/** A thread that takes from a shared quota region on a clock that all threads push forward, and reports what was granted. No assertions. */
import { readFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'

const module = new WebAssembly.Module(
  readFileSync(new URL('../../../../../build/kernel.wasm', import.meta.url)),
)
const BUSY = 5

parentPort.on('message', job => parentPort.postMessage(run(job)))

function run({ memory, base, thread, shared, ops, keys, limits, stepMs, jitterMs, unixMs, seed, holding }) {
  const kernel = new WebAssembly.Instance(module, { env: { memory } }).exports
  const scratch = kernel.quotaAttach(base, thread)
  const bytes = new Uint8Array(memory.buffer, scratch + 128, 896)
  const out = new Uint32Array(memory.buffer, scratch, 32)
  const locks = new Int32Array(memory.buffer)
  const names = keys.map(key => new TextEncoder().encode(key))
  // The clock in ms; threads ready; go; calls in flight, counted outside the kernel.
  const words = new Int32Array(shared)
  const { second = 0, minute = 0, day = 0, month = 0, burst = 0 } = limits
  const random = randomFrom(seed)
  const granted = []
  const statuses = [0, 0, 0, 0, 0, 0]
  const held = []
  let max = 0

  function giveBack() {
    Atomics.sub(words, 3, 1)
    kernel.quotaRelease(held.pop())
  }

  Atomics.add(words, 1, 1)
  Atomics.wait(words, 2, 0, 5000)
  for (let i = 0; i < ops; i++) {
    const which = random(names.length)
    const { length } = names[which]
    bytes.set(names[which])
    const before = Atomics.add(words, 0, random(stepMs + 1))
    const passed = Math.max(1, before - (jitterMs > 0 && random(20) === 0 ? random(jitterMs) : 0))
    let status = BUSY
    while (true) {
      status = kernel.quotaTake(length, 0, passed, unixMs, second, minute, day, month, burst, 0, 0)
      if (status !== BUSY) break
      Atomics.wait(locks, out[9] / 4, Atomics.load(locks, out[9] / 4), 0.1)
    }
    statuses[status]++
    if (status === 0) {
      granted.push(which, passed, Atomics.load(words, 0))
      held.push(out[0])
      max = Math.max(max, Atomics.add(words, 3, 1) + 1)
    }
    while (held.length > holding || (held.length > 0 && random(4) === 0)) giveBack()
  }
  while (held.length > 0) giveBack()
  return { granted, statuses, max }
}

/** xorshift32 */
function randomFrom(seed) {
  let state = seed >>> 0 || 1
  return below => {
    state = (state ^ (state << 13)) >>> 0
    state = (state ^ (state >>> 17)) >>> 0
    state = (state ^ (state << 5)) >>> 0
    return state % below
  }
}
