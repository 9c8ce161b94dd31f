/** The size of tools/list for two small documents, and what a listed schema keeps. The large documents: node scripts/tokens.mjs. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listedSchema } from '../../../../src/data-plane/http/listed-schema.ts'
import type { ObjectSchema } from '../../../../src/model/json-schema.ts'
import { compileValidator } from '../../../../src/shared/json-schema/validate.ts'
import { listedTokens } from '../../../fixtures/listed-tokens.ts'

const ROOT = new URL('../../../../', import.meta.url).pathname
const EXAMPLES = dirname(createRequire(import.meta.url).resolve('@readme/oas-examples/package.json'))

describe('tools/list', () => {
  it.each([
    // limits: 70 % of what the list took before keywords without use were left out
    ['shop', join(ROOT, 'toolsets/configmaps/shop-openapi/openapi.yaml'), 'shop_', 30, 5_196],
    ['Petstore', join(EXAMPLES, '3.0/json/petstore.json'), '', 20, 1_921],
  ])('of %s stays within its tokens', async (_, path, prefix, tools, maxTokens) => {
    const listed = await listedTokens(readFileSync(path, 'utf8'), prefix)
    expect(listed.tools).toBe(tools)
    expect(listed.tokens).toBeLessThanOrEqual(maxTokens)
  })
})

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
