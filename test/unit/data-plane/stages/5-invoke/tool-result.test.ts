/** Backend responses as content of tool results: types and charsets, multipart, structured content, and large bodies in steps. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_PARTS } from '../../../../../src/data-plane/stages/5-invoke/multipart-response.ts'
import { makingResult } from '../../../../../src/data-plane/stages/5-invoke/tool-result.ts'
import type { ToolResult } from '../../../../../src/model/tool.ts'
import type { EgressResponse } from '../../../../../src/net/egress/egress.ts'

/** @returns the result, and in how many steps it was made */
function made(response: EgressResponse, structured: boolean): { result: ToolResult; steps: number } {
  const making = makingResult(response, structured)
  for (let steps = 0; ; steps++) {
    const step = making.next()
    if (step.done === true) return { result: step.value, steps }
  }
}

const toolResult = (response: EgressResponse, structured: boolean) => made(response, structured).result

function respond(type: string, body: string | Uint8Array, status = 200): EgressResponse {
  const headers = { get: (name: string) => (name === 'content-type' ? type : ''), raw: [] }
  return { kind: 'response', status, headers, body: typeof body === 'string' ? Buffer.from(body) : body }
}

function contentOf(type: string, body: string | Uint8Array): unknown {
  return toolResult(respond(type, body), false).content
}

const MIXED = 'multipart/mixed; boundary="b o-1"'

function mixed(...parts: string[]): string {
  return `${parts.map(part => `--b o-1\r\n${part}\r\n`).join('')}--b o-1--\r\n`
}

describe('a response of one part', () => {
  it.each([
    ['text/plain; charset=iso-8859-1', [0x4b, 0xf6, 0x6c, 0x6e], 'Köln'],
    ['text/csv;header=present;Charset="Windows-1252"', [0xe9, 0x80, 0x93], 'é€“'],
    ['text/html; charset=Shift_JIS', [0x93, 0xfa, 0x96, 0x7b], '日本'],
    ['text/plain; charset=utf-16le', [0x41, 0x00], 'A'],
    ['text/plain; charset=no-such', [0xc3, 0xa9], 'é'],
    ['text/plain', [0xc3, 0xa9], 'é'],
  ])('%s is decoded by its charset', (type, bytes, text) => {
    expect(contentOf(type, Uint8Array.from(bytes))).toEqual([{ type: 'text', text }])
  })

  it('is text, image, audio or a resource by its type', () => {
    expect(contentOf('text/plain; charset=utf-8', 'a')).toEqual([{ type: 'text', text: 'a' }])
    expect(contentOf('image/png', 'a')).toEqual([{ type: 'image', data: 'YQ==', mimeType: 'image/png' }])
    expect(contentOf('audio/wav', 'a')).toEqual([{ type: 'audio', data: 'YQ==', mimeType: 'audio/wav' }])
    expect(contentOf('application/pdf', 'a')).toEqual([
      { type: 'resource', resource: { uri: 'toolgate:answer', mimeType: 'application/pdf', blob: 'YQ==' } },
    ])
  })
})

describe('a multipart response', () => {
  it('becomes one content each, in order', () => {
    const body = mixed(
      '\r\nplain',
      'content-type: image/png\r\n\r\na',
      'Content-Type: application/json\r\nContent-Location: shop:1\r\n\r\n{}',
      'Content-Type: application/zip\r\nContent-Location: shop:2\r\n\r\na',
    )
    expect(contentOf(MIXED, body)).toEqual([
      { type: 'text', text: 'plain' },
      { type: 'image', data: 'YQ==', mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'shop:1', mimeType: 'application/json', text: '{}' } },
      { type: 'resource', resource: { uri: 'shop:2', mimeType: 'application/zip', blob: 'YQ==' } },
    ])
  })

  it('may have a preamble, an epilogue, empty parts and line breaks within parts', () => {
    const body = `preamble\r\n${mixed('\r\na\r\n\r\nb', 'Content-Type: text/plain\r\n\r\n')}epilogue`
    expect(contentOf(MIXED, body)).toEqual([
      { type: 'text', text: 'a\r\n\r\nb' },
      { type: 'text', text: '' },
    ])
  })

  it.each([
    ['without an end', '--b o-1\r\n\r\na\r\n'],
    ['without parts', '--b o-1--\r\n'],
    ['with a longer boundary than it says', '--b o-12\r\n\r\na\r\n--b o-12--\r\n'],
    ['whose part has headers without an end', mixed('Content-Type: text/plain')],
    ['with a transfer encoding', mixed('Content-Transfer-Encoding: base64\r\n\r\nYQ==')],
    ['with too many parts', mixed(...Array.from({ length: MAX_PARTS + 1 }, () => '\r\na'))],
  ])('%s is handed on as it came', (_, body) => {
    const blob = Buffer.from(body).toString('base64')
    expect(contentOf(MIXED, body)).toEqual([
      { type: 'resource', resource: { uri: 'toolgate:answer', mimeType: 'multipart/mixed', blob } },
    ])
  })

  it('is handed on as it came when its parts are alternatives, or its type names no boundary', () => {
    const body = mixed('\r\na')
    for (const type of ['multipart/alternative; boundary="b o-1"', 'multipart/mixed'])
      expect(contentOf(type, body)).toMatchObject([{ type: 'resource' }])
  })

  it('of as many parts as are taken is split', () => {
    expect(contentOf(MIXED, mixed(...Array.from({ length: MAX_PARTS }, () => '\r\na')))).toHaveLength(
      MAX_PARTS,
    )
  })
})

describe('a response for a tool that declares an outputSchema', () => {
  it('becomes structured content', () => {
    expect(toolResult(respond('application/json', '{"a":1}'), true)).toMatchObject({
      structuredContent: { a: 1 },
      isError: false,
    })
  })

  it.each([
    ['many values', JSON.stringify(Array.from({ length: 100_000 }, () => ({})))],
    ['many values and a number beyond a double', `[${'{},'.repeat(20_000)}1e400]`],
  ])(
    'with %s becomes an error that keeps the text, because it may not lack structured content',
    (_, body) => {
      const result = toolResult(respond('application/json', body), true)
      expect(result).toMatchObject({ isError: true })
      expect(result).not.toHaveProperty('structuredContent')
      expect(result.content[0]).toMatchObject({ text: expect.stringContaining('Request fewer items') })
      expect(result.content[1]).toMatchObject({ text: body })
    },
  )
})

describe('a large response', () => {
  const UTF8 = ['a', 'é', '€', '😀', '\u{feff}', 'aé€😀\u{feff}']
  const bytes = (text: string) => Buffer.from(text)

  it.each(UTF8)('of %j is decoded in steps, whatever characters the pieces would divide', text => {
    for (const before of ['', 'x', 'xy', 'xyz']) {
      const body = bytes(before + text.repeat(Math.ceil(600_000 / bytes(text).length)))
      const { result, steps } = made(respond('text/plain', body), false)
      expect(result.content).toEqual([{ type: 'text', text: new TextDecoder().decode(body) }])
      expect(steps).toBeGreaterThan(3)
    }
  })

  it('that is not valid UTF-8 is decoded as a whole would be', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 12 }), some => {
        const body = Buffer.alloc(200_001, some)
        const { result } = made(respond('text/plain', body), false)
        expect(result.content).toEqual([{ type: 'text', text: new TextDecoder().decode(body) }])
      }),
      { numRuns: 30 },
    )
  })

  it.each([
    ['utf-16le', [0x41, 0x01, 0x3d, 0xd8, 0x00, 0xde]],
    ['shift_jis', [0x93, 0xfa, 0x41, 0x96, 0x7b]],
    ['iso-8859-1', [0xe9, 0x41, 0x80]],
  ])('in %s is decoded as a whole would be', (label, characters) => {
    const body = Buffer.alloc(300_001, Buffer.from(characters))
    const { result } = made(respond(`text/plain; charset=${label}`, body), false)
    const decoder = new TextDecoder(label)
    const text = decoder.decode(body, { stream: true }) + decoder.decode()
    expect(result.content).toEqual([{ type: 'text', text }])
  })

  it('of another type is encoded in steps', () => {
    const body = Buffer.alloc(600_000, Buffer.from([1, 2, 3, 255]))
    const { result, steps } = made(respond('image/png', body), false)
    expect(result.content).toEqual([{ type: 'image', mimeType: 'image/png', data: body.toString('base64') }])
    expect(steps).toBeGreaterThan(3)
  })

  it('is too long for structured content, even as a single value', () => {
    const { result } = made(respond('application/json', JSON.stringify('a'.repeat(3_000_000))), true)
    expect(result).toMatchObject({ isError: true })
    expect(result.content).toHaveLength(2)
  })
})
