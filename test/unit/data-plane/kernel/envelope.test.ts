/** Which bodies the envelope reader takes, kernel and twin alike, and what it makes of them. */
import { describe, expect, test } from 'vitest'
import {
  CALL_ARGUMENTS,
  CALL_FOREIGN,
  CALL_META,
  CALL_TOKEN,
  MAX_BODY_BYTES,
} from '../../../../src/data-plane/kernel/abi.ts'
import { createKernel } from '../../../../src/data-plane/kernel/create.ts'
import { CallReader, type EnvelopeReader } from '../../../../src/data-plane/kernel/envelope.ts'
import { createTwin } from '../../../oracles/kernel/twin.ts'

const engines: readonly (readonly [string, EnvelopeReader])[] = [
  ['wasm', createKernel().kernel.envelope],
  ['twin', createTwin().kernel.envelope],
]

function around(params: string, id = '1'): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`
}

function span(reader: EnvelopeReader, part: number): string {
  return reader.utf8(reader.parts[part / 4]!, reader.parts[part / 4 + 1]!)
}

describe.each(engines)('%s', (_, reader) => {
  const calls = new CallReader(reader)
  const read = (text: string) => calls.read(Buffer.from(text))

  test.each([
    around('{"name":"x"}'),
    around('{"name":"x","arguments":{}}'),
    around('{"_meta":{},"arguments":{"a":[1,{"b":null}],"c":"\\u00e9\\n\\ud83d\\uDE00"},"name":"x"}', '"a"'),
    around('{"name":"x","_meta":{"progressToken":"t"}}', '-0.5'),
    around('{"name":"x","_meta":{ "progressToken" : 1.5e3 }}', '1234567890123'),
    around('{"name":"x","_meta":{"progressToken":1,"progressToken":2}}', '007'.slice(2)),
    around('{"name":"x","_meta":{"progressToken":"\\u0041"}}', '1e2'),
    around('{"name":"x","arguments":{"a":"b\\n","c":true,"d":false,"e":null,"f":-1,"10":1e40,"2":"two"}}'),
    around('{"name":"x","arguments":{"a":123456789012345,"b":-12345.678901e-99}}', '12345678901.234'),
    around('{"name":"x","arguments":{"a":"ä","b":"ö","c":1}}'),
    around('{"name":"x","arguments":{"__proto__":1,"b":2}}'),
    around(`{"name":"x","arguments":{${Array.from({ length: 17 }, (_, i) => `"a${i}":${i}`).join(',')}}}`),
    around('{"name":"","arguments":{"__proto__":{"a":1},"a":1,"a":2}}', '""'),
    ' \t\r\n{ "params" : { "name" : "x" } , "method" : "tools/call" ,\n"id" : 0 , "jsonrpc" : "2.0" } \n',
  ])('takes %s', text => {
    const { id, params } = JSON.parse(text) as { id: unknown; params: object }
    expect(read(text)).toStrictEqual({ id, params })
  })

  test('says where the parts stand', () => {
    const text = around('{"name":"find","arguments":{"q":"größe 😀"},"_meta":{"progressToken":"é"}}')
    expect(reader.read(Buffer.from(text), true)).toBe(true)
    expect(span(reader, CALL_ARGUMENTS)).toBe('{"q":"größe 😀"}')
    expect(span(reader, CALL_META)).toBe('{"progressToken":"é"}')
    // not plain ASCII: the whole of _meta is parsed
    expect(span(reader, CALL_TOKEN)).toBe('')
    expect(reader.parts[CALL_FOREIGN / 4]).toBe(1)
    expect(read(text)?.params).toStrictEqual({
      name: 'find',
      arguments: { q: 'größe 😀' },
      _meta: { progressToken: 'é' },
    })
  })

  test.each([
    ['', 'nothing'],
    ['[]', 'a batch'],
    [`[${around('{"name":"x"}')}]`, 'a batch of one'],
    [`\ufeff${around('{"name":"x"}')}`, 'a byte order mark'],
    [`${around('{"name":"x"}')} x`, 'something behind it'],
    [`${around('{"name":"x"}')}\0`, 'a zero behind it'],
    [around('{"name":"x"}').slice(0, -1), 'its end is missing'],
    [around('{"name":"x"}').replace('tools/call', 'tools/list'), 'another method'],
    [around('{"name":"x"}').replace('2.0', '1.0'), 'another protocol'],
    [around('{"name":"x"}').replace('"id":1,', ''), 'a notification'],
    [around('{"name":"x"}', 'null'), 'an id of another type'],
    [around('{"name":"x"}', '1,"id":2'), 'a repeated id'],
    [around('{"name":"x"}', '1e999'), 'an id beyond a double'],
    [around('{"name":"x"}', '01'), 'no number'],
    [around('{"name":"x"}', '9007199254740993'), 'an id that a double may change'],
    [around('{"name":"x","arguments":{"a":1234567890123456}}'), 'sixteen digits'],
    [around('{"name":"x","arguments":{"a":0.12345678901234}}'), 'sixteen characters of a number'],
    [around('{"name":"x","arguments":{"a":1e100}}'), 'three digits of an exponent'],
    [around('{"name":"x","arguments":{"a":-0}}'), 'negative zero'],
    [around('{"name":"x","arguments":{"a":[-0.0]}}'), 'negative zero with a fraction'],
    [around('{"name":"x","_meta":{"progressToken":1e400}}'), 'a progress token beyond a double'],
    [around('{"name":"x","arguments":{"a":"\\ud800"}}'), 'a high surrogate alone'],
    [around('{"name":"x","arguments":{"a":"\\udc00\\ud800"}}'), 'surrogates in the wrong order'],
    [around('{"name":"x","arguments":{"a":"\\ud800\\u0041"}}'), 'a high surrogate before a letter'],
    [around('{"name":"x"}', '"\\u0031"'), 'an escape in the id'],
    [around('{"name":"x"}', '1,"extra":0'), 'an unknown member'],
    [around('{"name":"x"}', '1,"__proto__":{}'), 'an unknown member with a loaded name'],
    [around('{"name":"x","name":"y"}'), 'a repeated name'],
    [around('{"name":"x","arguments":{},"arguments":{"a":1}}'), 'repeated arguments'],
    [around('{"name":"x","_meta":{},"_meta":{}}'), 'repeated _meta'],
    [around('{"n\\u0061me":"x"}'), 'an escaped member name'],
    [around('{"name":"\\u0078"}'), 'an escaped tool name'],
    [around('{"name":"é"}'), 'a tool name that is not ASCII'],
    [around('{"name":1}'), 'a name of another type'],
    [around('{"name":"x","arguments":[]}'), 'arguments of another type'],
    [around('{"name":"x","_meta":null}'), '_meta of another type'],
    [around('{"name":"x","inputResponses":{}}'), 'an unknown parameter'],
    [around('{"arguments":{}}'), 'no name'],
    [around('[]'), 'params of another type'],
    [around('{"name":"x","arguments":{"a":01}}'), 'a broken number inside'],
    [around('{"name":"x","arguments":{"a":"\\x"}}'), 'a broken escape inside'],
    [around('{"name":"x","arguments":{"a":"\t"}}'), 'a raw control character inside'],
    [around('{"name":"x","arguments":{"a":1,}}'), 'a comma too many'],
    [around('{"name":"x","arguments":{"a":[1}]}'), 'brackets across'],
    [around(`{"name":"x","arguments":{"a":${'['.repeat(64)}1${']'.repeat(64)}}}`), 'too deep'],
    [around(`{"name":"x","arguments":{"a":"${'long '.repeat(99)}","b":[1]}}`), 'a list in a long body'],
    [around(`{"name":"x","arguments":{"a":"${'long '.repeat(99)}","b":{}}}`), 'an object in a long body'],
  ])('leaves %s to JSON.parse: %s', text => {
    expect(read(text)).toBeUndefined()
  })

  test('goes 64 containers deep', () => {
    const text = around(`{"name":"x","arguments":{"a":${'['.repeat(63)}1${']'.repeat(63)}}}`)
    expect(read(text)).toStrictEqual({ id: 1, params: JSON.parse(text).params })
  })

  test.each([
    [[0x80]],
    [[0xc0, 0x80]],
    [[0xc2, 0x22]],
    [[0xe0, 0x9f, 0xbf]],
    [[0xed, 0xa0, 0x80]],
    [[0xf0, 0x8f, 0xbf, 0xbf]],
    [[0xf4, 0x90, 0x80, 0x80]],
    [[0xf5, 0x80, 0x80, 0x80]],
    [[0xff]],
  ])('does not accept bytes %j, which are not UTF-8', bytes => {
    const [before, after] = around('{"name":"x","arguments":{"a":"|"}}').split('|') as [string, string]
    expect(
      calls.read(Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])),
    ).toBeUndefined()
  })

  test('takes a body of MAX_BODY_BYTES, and leaves a longer one', () => {
    const empty = around('{"name":"x","arguments":{"a":""}}')
    const text = empty.replace('""', `"${'y'.repeat(MAX_BODY_BYTES - empty.length)}"`)
    expect(text.length).toBe(MAX_BODY_BYTES)
    expect(read(text)?.params.arguments?.a).toHaveLength(MAX_BODY_BYTES - empty.length)
    expect(read(`${text} `)).toBeUndefined()
  })

  test('nothing of one body is left in the next', () => {
    expect(read(around('{"name":"first","arguments":{"a":1},"_meta":{"progressToken":1}}'))).toBeDefined()
    expect(read(around('{"name":"x"}'))).toStrictEqual({ id: 1, params: { name: 'x' } })
    const long = around('{"name":"first","arguments":{"a":1}}')
    expect(read(long)).toBeDefined()
    // cut where the rest of the longer one would complete it
    for (let length = 0; length < long.length; length++) expect(read(long.slice(0, length))).toBeUndefined()
  })

  test('similar names of tools are distinguished', () => {
    const names = Array.from({ length: 2000 }, (_, i) => `tool_${'ab'.repeat(i % 5)}${i}`)
    for (const name of [...names, ...names])
      expect(read(around(`{"name":"${name}"}`))?.params.name).toBe(name)
  })
})
