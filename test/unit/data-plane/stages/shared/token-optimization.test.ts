/** Token optimization: what each level leaves out and says so, the stage that runs it once, and the header that chooses the level. */
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { readLevel } from '../../../../../src/data-plane/http/optimization-level.ts'
import { compose } from '../../../../../src/data-plane/pipeline/compose.ts'
import type { OptimizationLevel } from '../../../../../src/data-plane/pipeline/operation.ts'
import { optimizeResult } from '../../../../../src/data-plane/stages/6-settle/optimize-result.ts'
import { optimize } from '../../../../../src/data-plane/stages/shared/token-optimization.ts'
import { exchange } from '../../../../fixtures/exchange.ts'

const text = (value: unknown) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(value, null, 2) }],
  isError: false,
})
function optimized(value: unknown, level: 'moderate' | 'aggressive'): unknown {
  const part = optimize(text(value), level).result.content[0]!
  return JSON.parse((part as { text: string }).text)
}

it.each([
  ['moderate', '{"a":null,"b":1}'],
  ['aggressive', 'x'.repeat(1_000)],
] as const)('%s keeps annotations and _meta of a text', (level, value) => {
  const said = { annotations: { audience: ['user'] }, _meta: { 'shop.test/page': 1 } }
  const part = { type: 'text' as const, text: value, ...said }
  const [shorter] = optimize({ content: [part], isError: false }, level).result.content
  expect(shorter).toMatchObject({ type: 'text', ...said })
  expect((shorter as { text: string }).text.length).toBeLessThan(value.length)
})

describe('moderate', () => {
  it('drops nulls and empty values, keeps zero and false, and keeps places in arrays', () => {
    expect(
      optimized({ a: null, b: '', c: [], d: {}, e: 0, f: false, g: [null, 1], h: { i: null } }, 'moderate'),
    ).toEqual({ e: 0, f: false, g: [null, 1] })
  })

  it('says where an envelope repeats itself', () => {
    expect(optimized({ data: [{ id: 1 }], items: [{ id: 1 }], count: 1, total: 1 }, 'moderate')).toEqual({
      data: [{ id: 1 }],
      items: '(same as data)',
      count: 1,
      total: 1,
    })
  })

  it('loses no value that holds data', () => {
    const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.stringMatching(/^[a-z]{1,8}$/))
    const json = fc.dictionary(
      fc.stringMatching(/^[a-z]{1,5}$/),
      fc.oneof(leaf, fc.array(leaf, { minLength: 1 })),
      { minKeys: 1 },
    )
    fc.assert(
      fc.property(json, value => {
        const kept = optimized(value, 'moderate') as Record<string, unknown>
        for (const [key, entry] of Object.entries(value)) {
          if (kept[key] !== entry && JSON.stringify(kept[key]) !== JSON.stringify(entry))
            expect(kept[key]).toMatch(/^\(same as /)
        }
      }),
    )
  })
})

describe('aggressive', () => {
  it('writes alike objects as columns and names how many it left out', () => {
    const rows = Array.from({ length: 50 }, (_, id) => ({ id, name: `n${id}` }))
    const {
      columns,
      rows: shown,
      left_out,
    } = optimized(rows, 'aggressive') as { columns: string[]; rows: unknown[][]; left_out: string }
    expect(columns).toEqual(['id', 'name'])
    expect(shown).toHaveLength(20)
    expect(left_out).toBe('… 30 more of 50 items left out')
  })

  it('shortens long strings with a marker, never inside a character', () => {
    const { note } = optimized({ note: '😀'.repeat(400) }, 'aggressive') as { note: string }
    expect(note).toMatch(/^(😀)+… \(\d+ more characters left out\)$/u)
  })

  it('leaves arrays that are not uniform as they are', () => {
    const mixed = { list: [{ a: 1 }, { b: 2 }, { c: 3 }] }
    expect(optimized(mixed, 'aggressive')).toEqual(mixed)
  })
})

describe('both', () => {
  it('leave structuredContent alone and count what they saved', () => {
    const result = { ...text({ a: null, b: 1 }), structuredContent: { a: null, b: 1 } }
    const { result: slim, savedBytes } = optimize(result, 'aggressive')
    expect(slim.structuredContent).toEqual({ a: null, b: 1 })
    expect(savedBytes).toBe(Buffer.byteLength(JSON.stringify({ a: null, b: 1 }, null, 2)) - '{"b":1}'.length)
  })

  it('are computed once for a part, and again at another level', () => {
    const result = text({ a: null, b: 'x'.repeat(400) })
    const parse = vi.spyOn(JSON, 'parse')
    const [first, again] = [optimize(result, 'moderate'), optimize({ ...result }, 'moderate')]
    expect(parse).toHaveBeenCalledOnce()
    expect(again).toEqual(first)
    const aggressive = optimize(result, 'aggressive')
    expect(parse).toHaveBeenCalledTimes(2)
    parse.mockRestore()
    expect(aggressive.savedBytes).toBeGreaterThan(first.savedBytes)
    expect(optimize(result, 'moderate')).toEqual(first)
  })

  it('never make a result longer', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom('moderate' as const, 'aggressive' as const),
        (value, level) => {
          expect(optimize(text(value), level).savedBytes).toBeGreaterThanOrEqual(0)
        },
      ),
    )
  })
})

describe('the stage', () => {
  const large = text(Array.from({ length: 300 }, (_, id) => ({ id, name: `n${id}`, note: null })))
  const pipeline = compose(
    [
      { id: 'reply', phase: 'invoke', run: () => ({ kind: 'reply', result: large }) },
      optimizeResult(),
      { id: 'read', phase: 'settle', run: x => void x.optimized?.savedBytes },
    ],
    error => {
      throw error
    },
  )
  const call = (optimization?: OptimizationLevel) =>
    exchange({
      operation: {
        action: 'tools.call',
        tool: 'get_order',
        arguments: {},
        ...(optimization === undefined ? {} : { optimization }),
      },
    })

  it('optimizes a result once per call, for the settle stages and the response', async () => {
    const x = call('aggressive')
    const parse = vi.spyOn(JSON, 'parse')
    const final = await pipeline(x)
    expect(parse).toHaveBeenCalledOnce()
    parse.mockRestore()
    expect(final).toMatchObject({ result: large })
    expect(x.optimized).toEqual(optimize(large, 'aggressive'))
    expect(x.optimized!.savedBytes).toBeGreaterThan(10_000)
  })

  it.each(['none', undefined] as const)('does nothing at level %s', async level => {
    const x = call(level)
    await pipeline(x)
    expect(x.optimized).toBeUndefined()
  })
})

it.each([
  ['', 'none'],
  ['None', 'none'],
  ['moderate', 'moderate'],
  [' aggressive ', 'aggressive'],
  ['max', undefined],
])('reads %j as %s', (header, level) => {
  expect(readLevel(header)).toBe(level)
})
