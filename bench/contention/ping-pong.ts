/** A thread that passes one cache line to another and back. Started by `validate.ts`, two at once; it judges nothing. */
import { workerData } from 'node:worker_threads'

export interface PingPongData {
  readonly thread: 0 | 1
  /** Word 0 is passed; word 512, lines away, counts the threads that are ready. */
  readonly words: SharedArrayBuffer
  /** Nanoseconds of one way, per round. */
  readonly rounds: SharedArrayBuffer
}

const PASSES = 2_000
const READY = 512

const data = workerData as PingPongData | null
if (data !== null && 'rounds' in data) run(data)

function run({ thread, words: shared, rounds }: PingPongData): void {
  const words = new Int32Array(shared)
  const figures = new Float64Array(rounds)
  Atomics.add(words, READY, 1)
  while (Atomics.load(words, READY) < 2);
  for (let round = 0; round < figures.length; round++) {
    const began = process.hrtime.bigint()
    for (let pass = 0; pass < PASSES; pass++) {
      const mine = (round * PASSES + pass) * 2 + thread
      while (Atomics.load(words, 0) !== mine);
      Atomics.store(words, 0, mine + 1)
    }
    if (thread === 1) figures[round] = Number(process.hrtime.bigint() - began) / PASSES / 2
  }
}
