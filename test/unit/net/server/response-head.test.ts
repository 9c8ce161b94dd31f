/** Heads of responses: rendered exactly, and never with a line that the handler did not mean. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkHeaders, isBodiless, renderHead } from '../../../../src/net/server/response-head.ts'

it('renders status, headers in order and the lines of the listener', () => {
  expect(renderHead(200, [])).toBe('200 OK')
  expect(renderHead(201, ['b', '2', 'a', '1'], '\r\nconnection: close')).toBe(
    '201 Created\r\nb: 2\r\na: 1\r\nconnection: close',
  )
  expect(renderHead(299, ['a', ''])).toBe('299 Unknown\r\na: ')
})

it('renders values beyond ASCII as ISO 8859-1 bytes', () => {
  expect(renderHead(200, ['a', 'é'])).toEqual(Buffer.from('200 OK\r\na: \xe9', 'latin1'))
  expect(checkHeaders(['a', 'b', 'c', 'é'])).toBe(true)
  expect(checkHeaders(['a', 'b\tc'])).toBe(false)
})

it('renders each value of a name, whether it differs from the last one, repeats or is long', () => {
  const values = ['text/html', 'text/css', 'x'.repeat(300), 'application/json']
  for (let at = 0; at < 400; at++) {
    // differs each time at first, then repeats
    const value = at < 200 ? `${values[at % 3]}; n=${at}` : values[3]!
    expect(renderHead(200, ['kind', value])).toBe(`200 OK\r\nkind: ${value}`)
  }
})

it('renders no value that could end its line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 8 }), value => {
      const isSound = /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
      if (!isSound) expect(() => renderHead(200, ['a', value])).toThrow(/header "a"/)
      else expect(Buffer.from(renderHead(200, ['a', value])).toString('latin1').length).toBeGreaterThan(0)
    }),
    { numRuns: 5_000 },
  )
})

it.each(['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'date'])(
  'leaves %s to the listener',
  name => expect(() => renderHead(200, [name, 'x'])).toThrow(`header "${name}" is set by the listener`),
)

it('names what is wrong', () => {
  expect(() => renderHead(200, ['Content-Type', 'x'])).toThrow(/"Content-Type" is not a lower-case token/)
  expect(() => renderHead(200, ['a'])).toThrow(/"a" has no value/)
  expect(() => renderHead(200, ['a b', 'x'])).toThrow(/"a b"/)
  expect(() => renderHead(100, [])).toThrow(/status 100/)
  expect(() => renderHead(600, [])).toThrow(/status 600/)
  expect(() => renderHead(Number.NaN, [])).toThrow(/status NaN/)
})

it('goes on checking names when it has seen more than it caches', () => {
  for (let n = 0; n < 2_000; n++) renderHead(200, [`x-${n}`, ''])
  expect(() => renderHead(200, ['x-\n', ''])).toThrow(/token/)
  expect(renderHead(200, ['x-1999', 'b'])).toBe('200 OK\r\nx-1999: b')
})

it('knows the responses that have no body', () => {
  expect([200, 202, 204, 205, 304, 404].filter(isBodiless)).toEqual([204, 304])
})
