/** URI templates read backwards: which URIs fit, and the values of their variables. */
import { describe, expect, it } from 'vitest'
import { readUriTemplate } from '../../../src/base/uri-template.ts'
import { growth } from '../../fixtures/cpu-time.ts'

const match = (template: string, uri: string) => readUriTemplate(template)!.match(uri)

describe('readUriTemplate', () => {
  it.each([
    ['file:///a', 'file:///a', {}],
    ['demo://items/{id}', 'demo://items/7', { id: '7' }],
    ['demo://items/{id}', 'demo://items/a%20b', { id: 'a b' }],
    ['demo://{a}/data/{b}', 'demo://x/data/y', { a: 'x', b: 'y' }],
    ['demo://t/{id}/data', 'demo://t/data/data', { id: 'data' }],
    ['file:///{+path}', 'file:///a/b/c', { path: 'a/b/c' }],
    ['{+uri}', 'any://thing/at/all', { uri: 'any://thing/at/all' }],
    ['demo://{x,y}', 'demo://1,2', { x: '1', y: '2' }],
    ['demo://a{/b,c}', 'demo://a/1/2', { b: '1', c: '2' }],
    ['demo://a{/b*}', 'demo://a/1', { b: '1' }],
    ['demo://a{?q,page}', 'demo://a?page=2&q=x', { q: 'x', page: '2' }],
    ['demo://a{?q,page}', 'demo://a', {}],
    ['demo://{id}{?q}', 'demo://7?q=x', { id: '7', q: 'x' }],
    ['demo://a{#part}', 'demo://a#top/left', { part: 'top/left' }],
  ])('%s fits %s', (template, uri, values) => {
    expect(match(template, uri)).toEqual(values)
  })

  it.each([
    ['demo://items/{id}', 'demo://items/'],
    ['demo://items/{id}', 'demo://items/7/more'],
    ['demo://items/{id}', 'other://items/7'],
    ['demo://t/{id}/data', 'demo://t/data'],
    ['demo://a{?q}', 'demo://a?other=1'],
    ['demo://items/{id}', 'demo://items/%zz'],
    ['file:///a', 'file:///ab'],
    ['{+uri}', ''],
  ])('%s does not fit %s', (template, uri) => {
    expect(match(template, uri)).toBeUndefined()
  })

  it.each([
    'demo://{a}{b}',
    'demo://{a}{+b}',
    'demo://{',
    'demo://{}',
    'demo://{a b}',
    `x:${'a'.repeat(3000)}`,
  ])('refuses %s', template => {
    expect(readUriTemplate(template)).toBeUndefined()
  })

  it('needs time in proportion to its length for a URI that repeats the text between the variables', () => {
    const template = readUriTemplate(`x:{+a}b{+c}b{+d}b{+e}b{+f}`)!
    const matchAll = (length: number) => {
      for (let i = 0; i < 100; i++) template.match(`x:${'b'.repeat(length)}c`)
    }
    expect(growth(matchAll, 250, 2_000, 24)).toBeLessThan(24)
  })
})
