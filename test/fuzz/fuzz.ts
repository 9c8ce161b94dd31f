/** Coverage-guided fuzzing of one target: when a batch runs code that none ran before, about a quarter of it joins the corpus. Coverage is that of V8. */
import { Session } from 'node:inspector/promises'
import { type Random, seeded } from '../chaos/random.ts'
import { mutate } from './mutate.ts'
import type { Target } from './targets.ts'

/** Coverage is read after so many inputs, because reading it costs more than running one. */
const BATCH = 40
const MAX_CORPUS = 2_000
/** CPU milliseconds; inputs are short, so a slower one is a finding. */
const MAX_INPUT_MS = 500

export interface FuzzResult {
  readonly inputs: number
  readonly corpus: number
  readonly failure: { readonly input: Buffer; readonly message: string } | undefined
}

export async function fuzz(target: Target, seed: number, forMs: number): Promise<FuzzResult> {
  const random = seeded(seed)
  const coverage = await Coverage.start()
  try {
    return await search(target, random, coverage, Date.now() + forMs)
  } finally {
    await coverage.stop()
  }
}

async function search(
  target: Target,
  random: Random,
  coverage: Coverage,
  until: number,
): Promise<FuzzResult> {
  const corpus = target.seeds.map(text => Buffer.from(text))
  let inputs = 0
  for (const input of corpus) {
    const message = failureOf(target, input)
    if (message !== undefined) return { inputs, corpus: corpus.length, failure: { input, message } }
  }
  await coverage.grew()
  do {
    const batch = Array.from({ length: BATCH }, () => mutate(random, corpus))
    for (const input of batch) {
      inputs++
      const message = failureOf(target, input)
      if (message !== undefined) return { inputs, corpus: corpus.length, failure: { input, message } }
    }
    // which one it was is found by luck later; keeping some of the batch is enough
    if ((await coverage.grew()) && corpus.length < MAX_CORPUS)
      corpus.push(...batch.filter(() => random.below(4) === 0))
  } while (Date.now() < until)
  return { inputs, corpus: corpus.length, failure: undefined }
}

/** @returns what is wrong, undefined when nothing is */
export function failureOf({ run }: Target, input: Buffer): string | undefined {
  const { user, system } = process.cpuUsage()
  try {
    run(input)
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
  const end = process.cpuUsage()
  const ms = (end.user + end.system - user - system) / 1_000
  return ms > MAX_INPUT_MS ? `the input took ${ms.toFixed(0)} ms of CPU` : undefined
}

/** Ranges of code of `src` that have run at least once. */
class Coverage {
  readonly #session = new Session()
  readonly #seen = new Set<string>()

  static async start(): Promise<Coverage> {
    const coverage = new Coverage()
    coverage.#session.connect()
    await coverage.#session.post('Profiler.enable')
    await coverage.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
    return coverage
  }

  /** Whether code ran since the last time that had not run before. */
  async grew(): Promise<boolean> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    const before = this.#seen.size
    for (const { url, functions } of result) {
      if (!url.includes('/src/')) continue
      for (const { ranges } of functions)
        for (const { startOffset, endOffset, count } of ranges)
          if (count > 0) this.#seen.add(`${url} ${startOffset} ${endOffset}`)
    }
    return this.#seen.size > before
  }

  async stop(): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }
}
