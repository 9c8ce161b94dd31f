/** Schemas without `$defs`, for clients that follow no references. */
import { describe, expect, it } from 'vitest'
import { unfoldSchema } from '../../../../src/base/json/unfold-schema.ts'

const node = {
  type: 'object',
  properties: { name: { type: 'string' }, child: { $ref: '#/$defs/Node', description: 'Below.' } },
}

describe('unfolding', () => {
  it('ends recursion after some levels, open but of its type', () => {
    const unfolded = unfoldSchema(
      { type: 'object', properties: { root: { $ref: '#/$defs/Node' } }, $defs: { Node: node } },
      2,
    )
    expect(unfolded).toEqual({
      type: 'object',
      properties: {
        root: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            child: {
              type: 'object',
              description: 'Below.',
              properties: { name: { type: 'string' }, child: { type: 'object', description: 'Below.' } },
            },
          },
        },
      },
    })
    expect(JSON.stringify(unfolded)).not.toContain('$ref')
  })

  it('lets branches match together: some of them may have been left open', () => {
    const $defs = { A: { type: 'object', required: ['a'] }, B: { type: 'object', required: ['b'] } }
    const x = { oneOf: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/B' }] }
    expect(unfoldSchema({ type: 'object', properties: { x }, $defs }).properties?.x).toEqual({
      anyOf: [$defs.A, $defs.B],
    })
  })

  it('leaves a schema without definitions as it is', () => {
    const schema = { type: 'object' } as const
    expect(unfoldSchema(schema)).toBe(schema)
  })

  it('stays within its budget when definitions double at each level', () => {
    const $defs: Record<string, object> = { S0: { type: 'string' } }
    for (let i = 1; i < 40; i++) {
      const $ref = `#/$defs/S${i - 1}`
      $defs[`S${i}`] = { type: 'object', properties: { a: { $ref }, b: { $ref } } }
    }
    const unfolded = unfoldSchema(
      { type: 'object', properties: { x: { $ref: '#/$defs/S39' } }, $defs },
      2,
      20_000,
    )
    expect(JSON.stringify(unfolded).length).toBeLessThan(60_000)
  })
})

describe('keywords beside a reference', () => {
  const $defs = { Base: { type: 'object', properties: { a: {} }, required: ['a'], description: 'Base.' } }
  const unfolded = (beside: object) =>
    unfoldSchema({ type: 'object', properties: { x: { $ref: '#/$defs/Base', ...beside } }, $defs }).properties
      ?.x

  it('replace annotations and join what the definition leaves out', () => {
    expect(unfolded({ description: 'Mine.', minProperties: 1 })).toEqual({
      ...$defs.Base,
      description: 'Mine.',
      minProperties: 1,
    })
  })

  it('never replace what the definition demands', () => {
    expect(unfolded({ required: ['b'] })).toEqual({ required: ['b'], allOf: [$defs.Base] })
  })
})
