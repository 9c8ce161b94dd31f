/** What an entrypoint declares to read, and the input that is encoded for it. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { inputEncoder } from '../../../src/policy/encode-input.ts'
import type { PolicyInput } from '../../../src/policy/engine.ts'
import { INPUT_PATHS, READS_ALL, readsOf, uncovered } from '../../../src/policy/reads.ts'
import { inputOf } from '../../fixtures/policy/inputs.ts'

describe('reads', () => {
  it('touch the path itself, what is above it and what is below it', () => {
    const reads = readsOf(['subject.properties', 'resource.properties.annotations.readOnlyHint'])
    expect(INPUT_PATHS.filter(path => reads.touches(path))).toEqual([
      'subject.properties.consumer',
      'subject.properties.tenant',
      'subject.properties.roles',
      'subject.properties.scopes',
      'subject.properties.rights',
      'resource.properties.annotations',
    ])
  })

  it('do not take a path for another that begins alike', () => {
    expect(readsOf(['subject.id']).touches('subject.properties.consumer')).toBe(false)
    expect(() => readsOf(['subject.i'])).toThrow('reads names "subject.i"')
  })

  it.each([
    ['context.time'],
    ['context.arguments'],
    ['context.answers'],
    ['context.arguments.amount'],
    ['context'],
    [''],
  ])('of %j are not cached', path => expect(readsOf([path]).cacheable).toBe(false))

  it('of everything else are cached', () => {
    const paths = INPUT_PATHS.filter(
      path => !['context.time', 'context.arguments', 'context.answers'].includes(path),
    )
    expect(readsOf(paths).cacheable).toBe(true)
    expect(READS_ALL.cacheable).toBe(false)
  })

  it('refuse a path that the input does not have', () => {
    expect(() => readsOf(['context.weather'])).toThrow(
      'not a field of the policy input; see schemas/input.json',
    )
  })

  it('find what is read without being declared', () => {
    expect(uncovered(['action.name', 'context.plan'], ['action'])).toEqual(['context.plan'])
    expect(uncovered(['context'], ['context.plan'])).toEqual(['context'])
    expect(uncovered([''], ['subject', 'action'])).toEqual([''])
    expect(uncovered(['subject.id', 'context.time'], [''])).toEqual([])
  })
})

describe('the encoded input', () => {
  /** The value at a path, or undefined. */
  function at(value: unknown, path: string): unknown {
    return path
      .split('.')
      .reduce<unknown>((of, key) => (of as Record<string, unknown> | undefined)?.[key], value)
  }

  const texts = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\u2028', '\ud800', 'é€😀'))
  const inputs = fc.record({
    id: texts,
    roles: fc.array(texts, { maxLength: 3 }),
    tenant: fc.option(texts),
    own: fc.option(fc.boolean(), { nil: undefined }),
    tags: fc.option(fc.array(texts, { maxLength: 2 }), { nil: undefined }),
    args: fc.option(fc.dictionary(texts, texts, { maxKeys: 3 }), { nil: undefined }),
  })

  function built({
    id,
    roles,
    tenant,
    own,
    tags,
    args,
  }: {
    id: string
    roles: string[]
    tenant: string | null
    own: boolean | undefined
    tags: string[] | undefined
    args: Record<string, string> | undefined
  }): PolicyInput {
    return inputOf({
      id,
      action: id,
      caller: { roles, tenant },
      resource: { ...(own === undefined ? {} : { own }), ...(tags === undefined ? {} : { tags }) },
      context: args === undefined ? {} : { arguments: args },
    })
  }

  it('holds what is read, unchanged, and JSON parses it', () => {
    fc.assert(
      fc.property(inputs, fc.subarray([...INPUT_PATHS]), (parts, paths) => {
        const input = built(parts)
        const encoded: unknown = JSON.parse(inputEncoder(readsOf(paths))(input))
        const plain: unknown = JSON.parse(JSON.stringify(input))
        for (const path of paths) expect(at(encoded, path)).toEqual(at(plain, path))
      }),
      { numRuns: 1000 },
    )
  })

  it('leaves out what is not read', () => {
    const encode = inputEncoder(
      readsOf(['resource.properties.annotations.readOnlyHint', 'subject.properties.scopes']),
    )
    expect(JSON.parse(encode(inputOf({ context: { arguments: { secret: 'x' } } })))).toEqual({
      subject: { properties: { scopes: ['execute', 'read'] } },
      action: { name: 'tools.call' },
      resource: { properties: { annotations: { readOnlyHint: true } } },
    })
  })

  it('holds all hints when they are read as a whole', () => {
    for (const path of ['resource', 'resource.properties', 'resource.properties.annotations', '']) {
      const encoded: unknown = JSON.parse(inputEncoder(readsOf([path]))(inputOf()))
      expect(at(encoded, 'resource.properties.annotations')).toEqual(
        inputOf().resource.properties.annotations,
      )
    }
  })

  it('follows the caller, and a list that was changed in place', () => {
    const encode = inputEncoder(readsOf(['subject.properties.scopes']))
    const scopes = ['read']
    const first = encode(inputOf({ caller: { scopes } }))
    scopes.push('write')
    expect(encode(inputOf({ caller: { scopes } }))).not.toBe(first)
    const frozen = Object.freeze(['admin'])
    encode(inputOf({ caller: { scopes: frozen } }))
    expect(encode(inputOf({ caller: { scopes: ['read'] } }))).toBe(first)
  })

  it('never gives one caller as another, though they share their frozen lists', () => {
    const roles = Object.freeze(['viewer'])
    const scopes = Object.freeze(['read'])
    const other = { roles: Object.freeze(['viewer']), scopes: Object.freeze(['read']) }
    const first = { subject: { type: 'token', id: 'a' }, caller: { roles, scopes, tenant: 'acme' } } as const
    const encode = inputEncoder(READS_ALL)
    for (const parts of [
      first,
      { ...first, subject: { type: 'token', id: 'b' } },
      { ...first, subject: { type: 'api_key', id: 'a' } },
      { ...first, caller: { ...first.caller, tenant: 'globex' } },
      { ...first, caller: { ...first.caller, consumer: 'b' } },
      { ...first, caller: { ...first.caller, roles: Object.freeze(['admin']) } },
      { ...first, caller: { ...first.caller, scopes: Object.freeze(['write']) } },
      { ...first, caller: { ...first.caller, ...other } },
    ] as const) {
      for (const input of [inputOf(first), inputOf(parts), inputOf(parts)])
        expect(JSON.parse(encode(input)).subject).toEqual(input.subject)
    }
  })

  it('sees a list that changes although it is the same object', () => {
    const roles = ['viewer']
    const encode = inputEncoder(READS_ALL)
    const input = inputOf({ caller: { roles, scopes: Object.freeze([]) } })
    encode(input)
    roles[0] = 'admin'
    expect(JSON.parse(encode(input)).subject.properties.roles).toEqual(['admin'])
  })
})
