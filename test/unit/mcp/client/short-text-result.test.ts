/** The short way of reading a result that is one text: it finds what the reader of JSON finds, or leaves the response to it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mcpResult, plainTextOf } from '../../../../src/data-plane/stages/5-invoke/mcp-result.ts'
import { readMessages } from '../../../../src/mcp/client/messages.ts'
import { shortTextResult } from '../../../../src/mcp/client/short-text-result.ts'

const ID = 7
const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
const message = (result: object, id: unknown = ID) => JSON.stringify({ jsonrpc: '2.0', id, result })

function found(response: string | Uint8Array, id: number | string = ID): string | undefined {
  const result = shortTextResult(Buffer.from(response), id)
  return result && Buffer.from(result.text).toString()
}

/** As the rest of the gateway reads it. */
function readByJson(response: string): string | undefined {
  const [read] = readMessages(response)
  if (read?.kind !== 'response' || read.id !== ID || read.outcome.kind !== 'result') return undefined
  const result = mcpResult(read.outcome.result, '')
  return result && Buffer.from(plainTextOf(result) ?? []).toString()
}

it.each([
  ['of the TypeScript SDK', `{"result":{"content":[{"type":"text","text":"fine"}]},"jsonrpc":"2.0","id":7}`],
  ['of the Python SDK', message({ ...text('fine'), isError: false })],
  ['of 2026-07-28', message({ resultType: 'complete', ...text('fine') })],
  ['with the text first', `{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"fine","type":"text"}]}}`],
  [
    'with white space',
    ` {\n"jsonrpc" : "2.0",\t"id": 7 ,\r\n"result":{ "content": [ {"type":"text" , "text":"fine"} ] } }\n`,
  ],
])('finds the text of a response %s', (_, response) => {
  expect(found(response)).toBe('fine')
  expect(readByJson(response)).toBe('fine')
})

it('finds the response to a request whose id is a text', () => {
  expect(found(message(text('fine'), 'thread-1:4'), 'thread-1:4')).toBe('fine')
  expect(found(message(text('fine'), 'thread-1:40'), 'thread-1:4')).toBeUndefined()
})

it('returns the result as JSON has it', () => {
  const result = shortTextResult(Buffer.from(message(text('a "b"\n'))), ID)
  expect(result?.result).toEqual({ content: [{ type: 'text', text: 'a "b"\n' }], isError: false })
})

it.each([
  ['another id', message(text('fine'), 70)],
  ['an id that is a text', message(text('fine'), '7')],
  ['no id', JSON.stringify({ jsonrpc: '2.0', result: text('fine') })],
  ['an error', JSON.stringify({ jsonrpc: '2.0', id: ID, error: { code: 1, message: 'no' } })],
  ['a failed tool', message({ ...text('no'), isError: true })],
  ['structured content', message({ ...text('{}'), structuredContent: {} })],
  ['metadata', message({ ...text('fine'), _meta: {} })],
  ['a task', message({ resultType: 'task', ...text('fine') })],
  ['two parts', message({ content: [...text('a').content, ...text('b').content] })],
  ['no part', message({ content: [] })],
  ['an image', message({ content: [{ type: 'image', text: 'x' }] })],
  ['annotations', message({ content: [{ type: 'text', text: 'x', annotations: {} }] })],
  ['a batch', `[${message(text('fine'))}]`],
  ['a member twice', `{"jsonrpc":"2.0","id":7,"id":7,"result":{"content":[{"type":"text","text":"x"}]}}`],
  ['a text twice', `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"x","text":"y"}]}}`],
  ['something behind it', `${message(text('fine'))}x`],
  ['an end in the text', message(text('fine')).slice(0, -6)],
  ['an end behind a backslash', `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\\`],
  ['a line break in the text', `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\n"}]}}`],
  [
    'an escape of four digits',
    `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\\u0041"}]}}`,
  ],
  [
    'an escape that JSON does not have',
    `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\\x"}]}}`,
  ],
  ['a byte order mark', message(text('\ufefffine'))],
  ['more than 8 KiB', message(text('x'.repeat(8_192)))],
  ['nothing', ''],
])('leaves a response with %s to the reader of JSON', (_, response) => {
  expect(found(response)).toBeUndefined()
})

it('finds what the reader of JSON finds, whatever the text', () => {
  let short = 0
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), value => {
      const response = message(text(value))
      const read = found(response)
      if (read === undefined) return
      short++
      expect(read).toBe(readByJson(response))
    }),
    { numRuns: 2_000 },
  )
  expect(short).toBeGreaterThan(200)
})

it('finds nothing in a damaged response that the reader of JSON does not find', () => {
  const response = Buffer.from(
    message({ resultType: 'complete', ...text('a "quoted" \\ text'), isError: false }),
  )
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(response.length - 1), fc.constantFrom(...'{}[]:,"\\ 7x'))),
      fc.nat(response.length),
      (changes, length) => {
        const damaged = Buffer.from(response)
        for (const [at, character] of changes) damaged.write(character, at)
        const cut = changes.length % 2 === 0 ? damaged : damaged.subarray(0, length)
        const read = found(cut)
        if (read !== undefined) expect(read).toBe(readByJson(cut.toString()))
      },
    ),
    { numRuns: 20_000 },
  )
})
