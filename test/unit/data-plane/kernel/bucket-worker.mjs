/** A thread with a kernel on the shared memory: takes tokens on demand and reports how many it got. */
import { readFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'

const module = new WebAssembly.Module(readFileSync(new URL('../../../../build/kernel.wasm', import.meta.url)))

parentPort.on('message', ({ memory, layout, thread, gate, slot, takes, nowMs, stepEvery }) => {
  const kernel = new WebAssembly.Instance(module, { env: { memory } }).exports
  kernel.init(layout.arenaBase + thread * layout.arenaStride, layout.bucketBase, layout.bucketCount)
  const words = new Int32Array(gate)
  Atomics.add(words, 0, 1)
  Atomics.wait(words, 1, 0)
  let granted = 0
  for (let i = 0; i < takes; i++) {
    // words[2]: milliseconds that have passed, pushed forward by all threads.
    const passed = stepEvery > 0 && i % stepEvery === 0 ? Atomics.add(words, 2, 1) : Atomics.load(words, 2)
    if (kernel.takeTokens(slot, 1, nowMs + passed) === 0) granted++
  }
  parentPort.postMessage(granted)
})
