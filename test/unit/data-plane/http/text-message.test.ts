/** A text result as bytes has the bytes that the longer way writes, for every version, id and text. */
import { describe, expect, test } from 'vitest'
import { writeJson } from '../../../../src/base/json/exact-number.ts'
import { ResultWriter, textOf } from '../../../../src/data-plane/http/mcp/result.ts'
import { TextReply } from '../../../../src/data-plane/pipeline/text-reply.ts'
import { PROTOCOL_VERSIONS, type ProtocolVersion } from '../../../../src/mcp/versions.ts'
import { randomFrom } from '../../../fixtures/fuzz-cases.ts'

const IDS = [0, 1, -7, 1.5, 2 ** 53, 'a', '', 'ü "quoted" \\ \n', '\u{1f600}', 'x'.repeat(300)]
const CONTROLS = ['\n', '\r', '\t', '\b', '\f', '\0', '\u001f', '\u007f']
const PIECES = [
  ...CONTROLS,
  '"',
  '\\',
  ' ',
  'a',
  '{"id":1}',
  'é',
  '€',
  '\u2028',
  '\u{1f600}',
  '\ufeff',
  '\ufffd',
]
const GENERATED = 20_000

async function written(version: ProtocolVersion, id: string | number, bytes: Uint8Array) {
  const writer = new ResultWriter(version, { name: 'gateway', title: 'Größe "x"' })
  const short = writer.completeText(id, bytes, [])
  const long = writer.complete(id, writeJson(new TextReply(bytes, 200).result))
  return { short: short && (await textOf(short.body)), long: await textOf(long.body) }
}

describe('a text as bytes', () => {
  test.each(PROTOCOL_VERSIONS)('is the message of %s', async version => {
    for (const id of IDS)
      for (const text of ['{}', PIECES.join(''), 'ä'.repeat(2000)]) {
        const { short, long } = await written(version, id, Buffer.from(text))
        expect(short).toBe(long)
      }
  })

  test(`is the message for ${GENERATED} generated texts`, async () => {
    const random = randomFrom(1)
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
    for (let at = 0; at < GENERATED; at++) {
      const text = Array.from({ length: 1 + Math.floor(random() * 30) }, () => pick(PIECES)).join('')
      const { short, long } = await written(pick(PROTOCOL_VERSIONS), pick(IDS), Buffer.from(text))
      expect(short).toBe(text.startsWith('\ufeff') ? undefined : long)
    }
  })

  test('is left to the longer way when its bytes are not UTF-8, or begin with a byte order mark', async () => {
    for (const bytes of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xef, 0xbb, 0xbf, 0x61]])
      expect((await written('2025-11-25', 1, Uint8Array.from(bytes))).short).toBeUndefined()
  })

  test('keeps its bytes while others are written', () => {
    const writer = new ResultWriter('2025-11-25', {})
    const first = writer.completeText(1, Buffer.from('first'), [])!.body as Uint8Array
    const before = Buffer.from(first).toString()
    for (let at = 0; at < 1000; at++) writer.completeText(at, Buffer.alloc(500, 'z'), [])
    expect(Buffer.from(first).toString()).toBe(before)
  })
})
