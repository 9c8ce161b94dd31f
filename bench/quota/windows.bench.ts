/** All five quota windows in one call, with 100,000 consumers in the table: the kernel, the store, a library with four, and what the memory alone costs. */
import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible'
import { CONSUMER_STRIDE } from '../../src/data-plane/quota/memory/abi.ts'
import { createQuotaRegion } from '../../src/data-plane/quota/memory/kernel.ts'
import { QuotaTable } from '../../src/data-plane/quota/memory/table.ts'
import { createMemoryQuota } from '../../test/fixtures/memory-quota.ts'
import type { BenchCase, Suite } from '../suite.ts'

const CONSUMERS = 100_000
const PER_RUN = 1_000
/** Callers in turn: those of the last moments are the ones that call again. */
const ACTIVE = 1_000
/** So high that no one is refused while the bench runs. */
const LIMITS = {
  perSecond: 1_000_000,
  perMinute: 5_000_000,
  perDay: 500_000_000,
  perMonth: 1_000_000_000,
  burst: 100,
}
const NAMES = Array.from({ length: CONSUMERS }, (_, i) => `tenant-${i % 100}/consumer-${i}`)
/** Drawn beforehand: no stride that the processor could foresee. */
const AT_RANDOM = drawn(1 << 18)

const suite: Suite = {
  id: 'quota/windows',
  title: `second, minute, day, month and calls in flight, one call and its release, ${CONSUMERS} consumers, 1 thread`,
  cases: async () => [...kernelCases(), ...storeCases(), ...(await libraryCases())],
}

export default suite

function drawn(count: number): Uint32Array {
  const order = new Uint32Array(count)
  let state = 1
  for (let i = 0; i < count; i++) {
    // xorshift32
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    order[i] = (state >>> 0) % CONSUMERS
  }
  return order
}

/** The host knows each consumer's slot and hash from flat arrays: what one decision costs, and nothing around it. */
function kernelCases(): BenchCase[] {
  const region = createQuotaRegion({ consumers: 131_072, toolBuckets: 64 })
  const table = new QuotaTable(region)
  const { kernel } = region
  const hashes = new Uint32Array(CONSUMERS * 4)
  const slots = new Int32Array(CONSUMERS)
  const nowMs = Date.now()
  let monoMs = 200_000
  const words = table.hashWords
  const take = (at: number) => {
    monoMs += 0.001
    words[0] = hashes[at * 4]!
    words[1] = hashes[at * 4 + 1]!
    words[2] = hashes[at * 4 + 2]!
    words[3] = hashes[at * 4 + 3]!
    const status = kernel.quotaTake(
      slots[at] === 0 ? -1 : -slots[at]!,
      0,
      monoMs,
      nowMs,
      1_000_000,
      5_000_000,
      500_000_000,
      1_000_000_000,
      100,
      0,
      0,
    )
    if (status !== 0) throw new Error(`take responded ${status}`)
    kernel.quotaRelease(table.out[0]!)
  }
  for (const [at, name] of NAMES.entries()) {
    table.key(name)
    hashes.set(words.subarray(0, 4), at * 4)
    take(at)
    slots[at] = table.out[0]!
  }
  return [...orders('kernel', take), ...floorCases(region.memory, slots)]
}

/** As many locked and plain accesses to the same memory in the same order, without any decision. */
function floorCases(memory: WebAssembly.Memory, slots: Int32Array): BenchCase[] {
  const words = new Int32Array(memory.buffer)
  const locks = 6
  const touch = (at: number) => {
    const first = slots[at]! / 4
    let sum = 0
    for (let line = 16; line < CONSUMER_STRIDE / 4; line += 16) sum += words[first + line]!
    if (Atomics.compareExchange(words, first + locks, 0, 1) !== 0) throw new Error('the slot is held')
    words[first + 16] = words[first + 16]!
    Atomics.store(words, first + locks, 0)
    return sum
  }
  return orders('memory-alone', touch)
}

function storeCases(): BenchCase[] {
  const quota = createMemoryQuota({ consumers: 131_072, toolBuckets: 64 })
  const keys = NAMES.map(name => quota.key(name))
  const nowMs = Date.now()
  const taker = (key: (at: number) => string | { readonly name: string }) => (at: number) => {
    const response = quota.take({ key: key(at), limits: LIMITS, nowMs })
    if (!response.granted) throw new Error(`refused: ${response.kind}`)
    response.release()
  }
  const prepared = taker(at => keys[at]!)
  for (let i = 0; i < CONSUMERS; i++) prepared(i)
  return [
    ...orders('store/prepared-key', prepared),
    ...orders(
      'store/name',
      taker(at => NAMES[at]!),
    ),
  ]
}

/** `rate-limiter-flexible` in memory has no window of calls in flight: four windows, and one alone. */
async function libraryCases(): Promise<BenchCase[]> {
  const limiter = (points: number, duration: number) => new RateLimiterMemory({ points, duration })
  const minute = limiter(LIMITS.perMinute, 60)
  const four = new RateLimiterUnion(
    limiter(LIMITS.perSecond, 1),
    limiter(LIMITS.perMinute, 60),
    limiter(LIMITS.perDay, 86_400),
    limiter(LIMITS.perMonth, 30 * 86_400),
  )
  const asked = async (ask: (name: string) => Promise<unknown>): Promise<(at: number) => Promise<void>> => {
    for (const name of NAMES) await ask(name)
    return async at => {
      await ask(NAMES[at]!)
    }
  }
  return [
    ...awaited('rate-limiter-flexible/four-windows', await asked(name => four.consume(name))),
    ...awaited('rate-limiter-flexible/one-window', await asked(name => minute.consume(name))),
  ]
}

function orders(what: string, take: (at: number) => void): BenchCase[] {
  let at = 0
  const run = (next: (i: number) => number) => () => {
    for (let i = 0; i < PER_RUN; i++) take(next(at++))
  }
  return [
    { id: `${what}/active`, perRun: PER_RUN, run: run(i => AT_RANDOM[i & (AT_RANDOM.length - 1)]! % ACTIVE) },
    { id: `${what}/all-at-random`, perRun: PER_RUN, run: run(i => AT_RANDOM[i & (AT_RANDOM.length - 1)]!) },
  ]
}

function awaited(what: string, take: (at: number) => Promise<void>): BenchCase[] {
  let at = 0
  return [
    {
      id: `${what}/all-at-random`,
      perRun: PER_RUN,
      async run() {
        for (let i = 0; i < PER_RUN; i++) await take(AT_RANDOM[at++ & (AT_RANDOM.length - 1)]!)
      },
    },
  ]
}
