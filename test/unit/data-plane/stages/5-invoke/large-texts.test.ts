/** Large texts of results are rewritten in another thread, with the result that the same code has in this one; pending ones are bounded. */
import { afterAll, describe, expect, it } from 'vitest'
import { LargeTexts, rewriteJob } from '../../../../../src/data-plane/stages/5-invoke/large-texts.ts'
import {
  isLargeText,
  optimize,
  optimizeLargeTexts,
  optimizeText,
} from '../../../../../src/data-plane/stages/shared/token-optimization.ts'

const rows = Array.from({ length: 2_000 }, (_, id) => ({ id, name: `row ${id}`, note: null }))
const text = JSON.stringify(rows)
const largeTexts = new LargeTexts()
afterAll(() => largeTexts.close())

describe('a large text', () => {
  it('is optimized, once for a result that is served again', async () => {
    const result = { content: [{ type: 'text', text } as const], isError: false }
    expect(isLargeText(result.content[0]!)).toBe(true)
    expect(optimize(result, 'aggressive').savedBytes, 'in this thread').toBe(0)
    let jobs = 0
    const shorten = (large: string) => {
      jobs++
      return largeTexts.rewrite('acme', large, { level: 'aggressive' })
    }
    await optimizeLargeTexts(result, 'aggressive', shorten)
    await optimizeLargeTexts(result, 'aggressive', shorten)
    expect(jobs).toBe(1)
    const { result: slim } = optimize(result, 'aggressive')
    expect(slim.content).toEqual([{ type: 'text', text: optimizeText(text, 'aggressive') }])
  })

  it('is redacted, and withheld when it is not JSON', async () => {
    const redacted = await largeTexts.rewrite('acme', text, { paths: [['*', 'name']] })
    expect(JSON.parse(redacted!)[7]).toEqual({ id: 7, note: null })
    expect(await largeTexts.rewrite('acme', `${text}x`, { paths: [['*', 'name']] })).toBeUndefined()
  })

  it('is sent in pieces and read as one text, also where a piece ends within a character', async () => {
    const long = JSON.stringify({ title: `${'\u{1F600}'.repeat(1_100_000)}x`, note: null, end: 'y' })
    const shifted = JSON.stringify({ name: `${'\u{1F600}'.repeat(1_100_000)}x`, note: null, end: 'y' })
    for (const one of [long, shifted]) {
      const [name] = Object.keys(JSON.parse(one))
      const redacted = await largeTexts.rewrite('acme', one, { paths: [['note']] })
      expect(redacted === JSON.stringify({ ...JSON.parse(one), note: undefined }), name).toBe(true)
    }
  })

  it('has its time from when the thread runs, however many pieces it has', () => {
    const job = rewriteJob(text, { level: 'moderate' })
    const restarts: number[] = []
    const running = { post: () => {}, restartTimeout: (ms: number) => void restarts.push(ms) }
    for (const message of ['next', 'next', 'rewriting'] as const)
      expect(job.receive(message, running)).toBeUndefined()
    expect(restarts).toEqual([3_000])
    expect(job.timeoutMs).toBe(10_000)
    expect(job.receive('unchanged', running)).toBe('unchanged')
  })

  it('stays as it is while too many of its owner are pending', async () => {
    const pending = Array.from({ length: 9 }, () => largeTexts.rewrite('acme', text, { level: 'moderate' }))
    expect((await Promise.all(pending)).filter(one => one === undefined)).toHaveLength(1)
  })
})
