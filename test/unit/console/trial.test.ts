/** What the portal reads of an OpenAPI document and sends in a trial: references, and bodies in their media types. */
import { describe, expect, it } from 'vitest'
import { readDocument } from '../../../console/src/portal/document.ts'
import { bodyText, contentOf } from '../../../console/src/portal/trial-body.ts'

describe('a reference', () => {
  const schemas = {
    'Parcel Größe': { type: 'string' },
    'a/b~c': { type: 'integer' },
    '100%': { type: 'number' },
  }
  it.each([
    ['#/components/schemas/Parcel%20Gr%C3%B6%C3%9Fe', 'string'],
    ['#/components/schemas/Parcel Größe', 'string'],
    ['#/components/schemas/a~1b~0c', 'integer'],
    ['#/components/schemas/100%25', 'number'],
    ['#/components/schemas/100%', 'number'],
  ])('%s is followed as a fragment (RFC 6901 §6)', async ($ref, type) => {
    const { resolve } = await readDocument({ openapi: '3.1.0', components: { schemas } })
    expect(resolve({ $ref })).toEqual({ type })
  })
})

const EXAMPLE = { city: 'Bern & more', weight: 3, tags: ['a'] }

describe('a body', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/merge-patch+json',
    'text/json',
  ])('%s is JSON, sent as it was written', mediaType => {
    const text = bodyText(mediaType, EXAMPLE)
    expect(JSON.parse(text)).toEqual(EXAMPLE)
    const exact = '{"id": 12345678901234567890}'
    expect(contentOf(mediaType, exact, { a: 'b' })).toEqual({
      headers: { a: 'b', 'content-type': mediaType },
      content: exact,
    })
    expect(() => contentOf(mediaType, '{', {})).toThrow(SyntaxError)
  })

  it('of a form is encoded', () => {
    const mediaType = 'application/x-www-form-urlencoded'
    expect(bodyText(mediaType, EXAMPLE)).toBe('city=Bern+%26+more&weight=3&tags=%5B%22a%22%5D')
    expect(contentOf(mediaType, 'a=b', {})).toEqual({
      headers: { 'content-type': mediaType },
      content: 'a=b',
    })
  })

  it('of a multipart form has the fields, and its type is that of the boundary', () => {
    const text = bodyText('multipart/form-data', EXAMPLE)
    const { headers, content } = contentOf('multipart/form-data', text, {})
    expect(headers).toEqual({})
    expect([...(content as FormData)]).toEqual([
      ['city', 'Bern & more'],
      ['weight', '3'],
      ['tags', '["a"]'],
    ])
  })

  it('of another type is the text', () => {
    expect(bodyText('text/plain', 'hello')).toBe('hello')
    expect(contentOf('application/xml', '<a/>', {})).toEqual({
      headers: { 'content-type': 'application/xml' },
      content: '<a/>',
    })
  })
})
