/** A bundle is tried in another thread: one that never ends, fails or returns too much is reported, and the next one is tried nevertheless. */
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { createBundleTrial } from '../../../../src/policy/opa-wasm/trial.ts'
import { altered, ENDLESS, inputOf, MISBEHAVING, SHIPPED } from '../../../fixtures/policy/inputs.ts'

const trial = createBundleTrial({ timeoutMs: 60_000, maxHeapMb: 256, maxEvaluationMs: 200, idleMs: 1000 })
afterAll(() => trial.close())
const shipped = readFileSync(SHIPPED)
const misbehaving = readFileSync(MISBEHAVING)
const asks = (action: string) => [inputOf({ action, context: { arguments: {} } })]

describe('the trial of a bundle', { timeout: 120_000 }, () => {
  it('lets a good one pass', async () => {
    await expect(
      trial.run(shipped, [inputOf(), inputOf({ action: 'nobody.knows' })]),
    ).resolves.toBeUndefined()
  })

  it('ends one that never ends, without stopping this thread', async () => {
    const short = createBundleTrial({ timeoutMs: 1500, maxHeapMb: 256, maxEvaluationMs: 200, idleMs: 1000 })
    let ticks = 0
    const ticking = setInterval(() => ticks++, 10)
    await expect(short.run(readFileSync(ENDLESS), [])).rejects.toThrow(/took longer than 1.5 s/)
    clearInterval(ticking)
    expect(ticks).toBeGreaterThan(20)
    await short.close()
  })

  it.each([
    ['conflict', /cannot evaluate the action conflict on the resource get_order \(trap: /],
    [
      'huge_answer',
      /cannot evaluate the action huge_answer on the resource get_order \((too_large|overtime): /,
    ],
    [
      'nothing_of_the_kind',
      /cannot evaluate the action nothing_of_the_kind on the resource get_order \(undefined: /,
    ],
    ['not_boolean', /cannot evaluate the action not_boolean on the resource get_order \(malformed: /],
  ])('reports what fails on a recent question: %s', async (action, reason) => {
    await expect(trial.run(misbehaving, asks(action))).rejects.toThrow(reason)
  })

  it.each([
    ['truncated', shipped.subarray(0, 50_000), /truncated/],
    ['no bundle at all', Buffer.from('hello'), /not a gzip file/],
    [
      'of another ABI',
      altered({ 'policy.wasm': Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0) }),
      /ABI 1\.2/,
    ],
    [
      'with a damaged module',
      altered({ 'policy.wasm': 'nonsense' }),
      /its WebAssembly module cannot be compiled/,
    ],
  ])('says what is wrong with one that is %s', async (_, bundle, reason) => {
    await expect(trial.run(bundle, [])).rejects.toThrow(reason)
    await expect(trial.run(shipped, [])).resolves.toBeUndefined()
  })
})
