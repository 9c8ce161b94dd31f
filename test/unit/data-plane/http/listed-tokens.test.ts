/** The size of tools/list for two small documents, and what a listed schema keeps. The large documents: node scripts/tokens.mjs. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ObjectSchema } from '../../../../src/base/json/json-schema.ts'
import { compileValidator } from '../../../../src/base/json-schema/validate.ts'
import { listedSchema, shortDescription } from '../../../../src/data-plane/listing/listed-schema.ts'
import { listedTokens } from '../../../fixtures/listed-tokens.ts'

const ROOT = new URL('../../../../', import.meta.url).pathname
const EXAMPLES = dirname(createRequire(import.meta.url).resolve('@readme/oas-examples/package.json'))

describe('tools/list', () => {
  it.each([
    // limits: 70 % of what the list took before keywords without use were left out
    ['shop', join(ROOT, 'toolsets/configmaps/shop-openapi/openapi.json'), 'shop_', 30, 5_196],
    ['Petstore', join(EXAMPLES, '3.0/json/petstore.json'), '', 20, 1_921],
  ])('of %s stays within its tokens', async (_, path, prefix, tools, maxTokens) => {
    const listed = await listedTokens(readFileSync(path, 'utf8'), prefix)
    expect(listed.tools).toBe(tools)
    expect(listed.tokens).toBeLessThanOrEqual(maxTokens)
  })
})

describe('a compact list', () => {
  const petstore = readFileSync(join(EXAMPLES, '3.0/json/petstore.json'), 'utf8')
  const shop = readFileSync(join(ROOT, 'toolsets/configmaps/shop-openapi/openapi.json'), 'utf8')

  it.each([
    ['shop', shop],
    ['Petstore', petstore],
  ])('of %s means the same in fewer tokens', async (_, document) => {
    const [full, compact] = await Promise.all([listedTokens(document), listedTokens(document, '', true)])
    expect(compact.tokens).toBeLessThan(full.tokens)
    expect(withoutTexts(JSON.parse(compact.json))).toEqual(withoutTexts(JSON.parse(full.json)))
  })

  it('ends descriptions after sentences, and keeps an example in place of its pattern', () => {
    const properties = {
      id: {
        type: 'string',
        pattern: '^P-[0-9]+$',
        description: 'Product, such as P-7.\nExample: P-9',
        examples: ['P-1'],
      },
      note: { type: 'string', description: `A note of ${'many '.repeat(30)}words. And more.` },
      deep: {
        type: 'object',
        description: 'One. Two.',
        properties: { a: { type: 'string', description: 'Text.' } },
      },
    }
    expect(listedSchema({ type: 'object', properties }, false, true).properties).toEqual({
      id: { type: 'string', description: 'Product, such as P-7.' },
      note: { type: 'string', description: `A note of ${'many '.repeat(30)}words.` },
      deep: { type: 'object', description: 'One. Two.', properties: { a: { type: 'string' } } },
    })
  })

  it.each([
    ['Lists orders\n\nAll of them. In order.', 'Lists orders\n\nAll of them. In order.'],
    [`Short. ${'Long '.repeat(60)}.`, 'Short.'],
    [`${'Long '.repeat(60)}end. Next.`, `${'Long '.repeat(60)}end.`],
    ['No end', 'No end'],
    [`Version 1.2 of it. ${'x'.repeat(200)}`, 'Version 1.2 of it.'],
  ])('shortens %j', (text, short) => {
    expect(shortDescription(text)).toBe(short)
  })
})

/** Without descriptions, examples and patterns: a full list leaves out a pattern that has an example. */
function withoutTexts(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutTexts)
  if (node === null || typeof node !== 'object') return node
  const kept = Object.entries(node).filter(
    ([name, value]) =>
      !((name === 'description' && typeof value === 'string') || name === 'examples' || name === 'pattern'),
  )
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutTexts(value)]))
}

describe('a listed schema', () => {
  const schema: ObjectSchema = {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, pattern: '^P-[0-9]+$', description: 'Product, such as P-7.' },
      code: { type: 'string', pattern: '^[A-Z]{3}$', description: 'A currency.', default: '' },
      count: { type: 'integer', format: 'int32', minimum: 1, default: 5 },
      note: {
        type: 'string',
        maxLength: 5000,
        title: 'A note',
        description: `${'First sentence. '.repeat(20)}`,
      },
      default: { type: 'object', properties: { title: { type: 'string' } }, additionalProperties: false },
    },
    required: ['id'],
    additionalProperties: false,
  }

  it('keeps every argument, and leaves out what adds nothing', () => {
    const listed = listedSchema(schema, true)
    expect(listed).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string', description: 'Product, such as P-7.' },
        code: { type: 'string', pattern: '^[A-Z]{3}$', description: 'A currency.' },
        count: { type: 'integer', minimum: 1, default: 5 },
        note: { type: 'string', description: 'First sentence. '.repeat(10).trim() },
        default: { type: 'object', properties: { title: { type: 'string' } } },
      },
      required: ['id'],
    })
    expect(listedSchema(schema, true)).toBe(listed)
  })

  it('says that a tool has no arguments', () => {
    const none: ObjectSchema = { type: 'object', properties: {}, additionalProperties: false }
    expect(listedSchema(none, true)).toEqual(none)
  })

  it('writes repeated parts of a large schema once, and allows the same values', () => {
    const address = {
      type: 'object',
      properties: Object.fromEntries(
        ['street', 'town', 'code', 'country'].map(name => [
          name,
          { type: 'string', enum: [`a-${name}`, `b-${name}`] },
        ]),
      ),
      required: ['street'],
    }
    const names = Array.from({ length: 30 }, (_, at) => `address_${at}`)
    const large: ObjectSchema = {
      type: 'object',
      properties: Object.fromEntries(names.map(name => [name, { type: 'array', items: address }])),
    }
    const shared = listedSchema(large, true)
    expect(JSON.stringify(shared).length).toBeLessThan(JSON.stringify(large).length / 3)
    expect(JSON.stringify(listedSchema(large, false))).not.toContain('$ref')
    const [inShared, inLarge] = [compileValidator(shared), compileValidator(large)]
    for (const street of ['a-street', 'c-street', undefined]) {
      const args = { address_3: [{ ...(street === undefined ? {} : { street }), town: 'a-town' }] }
      expect(inShared(args).length > 0).toBe(inLarge(args).length > 0)
    }
  })
})
