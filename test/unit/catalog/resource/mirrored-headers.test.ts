/** Which `x-mcp-header` annotations of an author can be followed. */
import { describe, expect, it } from 'vitest'
import { mirroredHeaderFault } from '../../../../src/catalog/resource/mirrored-headers.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }
const object = (properties: object) => ({ type: 'object', properties })

describe('x-mcp-header', () => {
  it.each([
    [object({ region })],
    [object({ region, deep: object({ shelf: { type: 'integer', 'x-mcp-header': 'Shelf' } }) })],
    [object({ 'x-mcp-header': { type: 'string' } })],
    [{ type: 'object', default: { 'x-mcp-header': 1 } }],
  ])('is good in %j', schema => expect(mirroredHeaderFault(schema)).toBeUndefined())

  it.each([
    [
      object({ a: region, b: { type: 'string', 'x-mcp-header': 'region' } }),
      'repeats the header name region',
    ],
    [object({ a: { type: 'string', 'x-mcp-header': 'a b' } }), 'at /properties/a is not a header name'],
    [object({ a: { type: 'string', 'x-mcp-header': '' } }), 'is not a header name'],
    [object({ a: { type: 'string', 'x-mcp-header': 7 } }), 'is not a header name'],
    [object({ a: { type: 'number', 'x-mcp-header': 'A' } }), 'is not on a property of type string'],
    [object({ a: { type: ['string', 'null'], 'x-mcp-header': 'A' } }), 'is not on a property of type string'],
    [
      object({ a: { type: 'array', items: region } }),
      'at /properties/a/items is not on a property, or is inside another keyword',
    ],
    [{ type: 'object', $defs: { a: region } }, 'is not on a property, or is inside another keyword'],
    [{ type: 'object', allOf: [object({ region })] }, 'is not on a property, or is inside another keyword'],
    [{ type: 'object', 'x-mcp-header': 'A' }, 'at the root'],
  ])('is faulty in %j', (schema, fault) => expect(mirroredHeaderFault(schema)).toContain(fault))
})
