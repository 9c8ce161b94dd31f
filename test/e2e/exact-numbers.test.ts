/** Numbers pass through a running gateway with the value they were written with, and schemas compare that value, not the double next to it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy, type ReadResponse } from '../fixtures/deployment.ts'
import {
  BOUND_SCHEMAS,
  type NumberBackend,
  PLACES,
  type Place,
  startNumberBackend,
} from '../fixtures/number-backend.ts'
import { exactValueOf, NumberTexts } from '../fixtures/number-texts.ts'

const COUNT = Number(process.env.NUMBERS ?? 60)
const SEED = Number(process.env.NUMBERS_SEED ?? 20260729)
const MODERN = '2026-07-28'

let backend: NumberBackend
let gateway: Deployment
let token: string
beforeAll(async () => {
  backend = await startNumberBackend()
  gateway = await deploy({ TOOLSETS: backend.toolSets })
  token = await gateway.token('demo-admin')
})
afterAll(async () => {
  await gateway?.stop()
  await backend?.close()
})

const texts = (): string[] => {
  const source = new NumberTexts(SEED)
  return Array.from({ length: COUNT }, () => source.next())
}

type Send = (name: string, args: string, id?: string) => Promise<ReadResponse>

const message = (name: string, args: string, id: string, meta = ''): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":${args}${meta}}}`

/** The ways in which a call arrives. */
const ACCESSES: { readonly [access: string]: Send } = {
  rest: (name, args) => gateway.post('/mcp/tools/call', `{"name":"${name}","arguments":${args}}`, token),
  'json-rpc': (name, args, id = '1') => gateway.post('/mcp/sse', message(name, args, id), token),
  batch: (name, args, id = '1') => gateway.post('/mcp/sse', `[${message(name, args, id)}]`, token),
  stateless: (name, args, id = '1') => {
    const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"${MODERN}","io.modelcontextprotocol/clientCapabilities":{}}`
    const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name }
    return gateway.post('/mcp', message(name, args, id, meta), token, headers)
  },
}

/** The number as it stands in a recorded request. */
const READ: { readonly [place in Place]: () => string } = {
  body: () => /^\{"n":([^,}]+)/.exec(last().body)![1]!,
  path: () => decodeURIComponent(last().url.slice('/path/'.length)),
  query: () => decodeURIComponent(last().url.slice('/query?n='.length)),
  header: () => String(last().headers.n),
  cookie: () => decodeURIComponent(String(last().headers.cookie).slice('n='.length)),
  form: () => decodeURIComponent(/^n=([^&]*)/.exec(last().body)![1]!),
  multipart: () => /name="n"\r\n\r\n([^\r]*)/.exec(last().body)![1]!,
}

const last = () => backend.requests.at(-1)!

async function sendOk(access: string, name: string, args: string, id?: string): Promise<ReadResponse> {
  const before = backend.requests.length
  const response = await ACCESSES[access]!(name, args, id)
  expect(response.status, response.text).toBe(200)
  expect(backend.requests.length, response.text).toBe(before + 1)
  return response
}

describe.each(Object.keys(ACCESSES))('%s', access => {
  it.each(PLACES)('a number in the %s of the backend request has its value', async place => {
    for (const text of texts()) {
      await sendOk(access, place, `{"n":${text}}`)
      expect(exactValueOf(READ[place]()), text).toBe(exactValueOf(text))
    }
  })

  it('digits that a double does not hold are passed on unchanged, at any depth', async () => {
    const args = '{"n":1,"list":[9007199254740993,1e400,12345678901234567890],"deep":{"a":[{"b":-1e-400}]}}'
    for (const place of ['body', 'form', 'multipart'] as const) {
      await sendOk(access, place, args)
      const { body } = last()
      const plain = place === 'form' ? decodeURIComponent(body) : body
      for (const digits of ['9007199254740993', '1e400', '12345678901234567890', '-1e-400'])
        expect(plain, place).toContain(digits)
    }
  })

  it('strings that look like such numbers stay strings', async () => {
    const deep = '{"a":"9007199254740993","b":": 1e400, ","c":"\\\\\\",-0","9007199254740993":1e400}'
    await sendOk(access, 'body', `{"deep":${deep}}`)
    expect(last().body).toBe(`{"deep":${deep}}`)
  })

  // a call over REST has no id
  it.runIf(access !== 'rest')('ids of requests come back as they were sent', async () => {
    for (const id of ['9007199254740993', '-12345678901234567890', '1e400', '0.1234567890123456789', '7']) {
      const { text } = await sendOk(access, 'body', '{"n":1}', id)
      expect(/"id":([^,}]+)/.exec(text)?.[1]).toBe(id)
      const refused = await ACCESSES[access]!('no_such_tool', '{}', id)
      expect(/"id":([^,}]+)/.exec(refused.text)?.[1]).toBe(id)
    }
  })

  it('numbers of the backend reach content and structuredContent with their value', async () => {
    for (const text of texts()) {
      backend.reply = `{"n":${text},"s":"9007199254740993"}`
      const response = await sendOk(access, 'body', '{"n":1}')
      expect(response.text).toContain(JSON.stringify(backend.reply))
      if (access === 'batch' || access === 'json-rpc') continue
      const structured = /"structuredContent":\{"n":([^,]+),"s":"9007199254740993"\}/.exec(response.text)
      expect(exactValueOf(structured?.[1] ?? ''), text).toBe(exactValueOf(text))
    }
  })
})

describe.each(['none', 'moderate', 'aggressive'])('token optimization %s', level => {
  it('changes no number', async () => {
    for (const text of texts()) {
      backend.reply = `{ "n": ${text}, "rows": [${`{"a":${text},"b":[null,${text}]},`.repeat(4).slice(0, -1)}], "same": ${text} }`
      const { json } = await gateway.post('/mcp/tools/call', '{"name":"body","arguments":{"n":1}}', token, {
        'x-token-optimization': level,
      })
      const slim = (json.content[0].text as string).replace(/"(?:[^"\\]|\\.)*"/g, '""')
      const numbers = slim.match(/-?\d[\d.eE+-]*/g)!
      expect(numbers).toHaveLength(10)
      for (const number of numbers) expect(exactValueOf(number), text).toBe(exactValueOf(text))
    }
  })
})

describe('a schema that a number does not fit', () => {
  const REFUSED: readonly (readonly [string, string])[] = [
    ['integer', '9007199254740992.5'],
    ['integer', '1e-400'],
    ['int32', '2147483648'],
    ['int32', '-2147483649'],
    ['int64', '9223372036854775808'],
    ['int64', '-9223372036854775809'],
    ['int64', '1e19'],
    ['limited', '9007199254740991.5'],
    ['limited', '0.09999999999999999999999'],
    ['limited', '1e400'],
    ['above', '-1e-400'],
    ['cents', '9007199254740993.25'],
    ['choice', '1.0000000000000000000001'],
    ['distinct', '[9007199254740993,1,90071992547409930e-1]'],
    ['nested', '[{"id":1},{"id":9007199254740992.5}]'],
  ]
  it.each(REFUSED)('%s: %s is refused with 400 that names the field', async (field, text) => {
    const response = await gateway.post(
      '/mcp/tools/call',
      `{"name":"bounded","arguments":{"${field}":${text}}}`,
      token,
    )
    expect(response.status, response.text).toBe(400)
    expect(response.json).toMatchObject({
      error: 'invalid_arguments',
      message: expect.stringContaining(`/${field}`),
    })
  })

  const ACCEPTED: readonly (readonly [string, string])[] = [
    ['integer', '9007199254740993'],
    ['integer', '1e400'],
    ['integer', '90071992547409930e-1'],
    ['int32', '2147483647'],
    ['int64', '9223372036854775807'],
    ['int64', '-9223372036854775808'],
    ['limited', '9007199254740990.5'],
    ['limited', '0.10000000000000000000001'],
    ['above', '1e-400'],
    ['cents', '9007199254740993.5'],
    ['cents', '1e400'],
    ['distinct', '[9007199254740993,9007199254740992,1e400,1e401]'],
  ]
  it.each(ACCEPTED)('%s: %s is passed on', async (field, text) => {
    const response = await gateway.post(
      '/mcp/tools/call',
      `{"name":"bounded","arguments":{"${field}":${text}}}`,
      token,
    )
    expect(response.status, response.text).toBe(200)
    expect(last().body).toBe(`{"${field}":${text}}`)
  })
})

describe.each(['json', 'yaml'])('numbers of a %s document', tool => {
  it('are served with their digits', async () => {
    for (const [method, path, args] of [
      ['rest', '/mcp/v1/tools', '{}'],
      ['json-rpc', '/mcp/sse', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ] as const) {
      const response = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: args,
      })
      const text = await response.text()
      const from = text.indexOf(`"name":"${tool}"`)
      const next = text.indexOf('},{"name":"', from)
      const listed = text.slice(from, next < 0 ? undefined : next)
      for (const [field, schema] of Object.entries(BOUND_SCHEMAS)) {
        const numbers = schema.match(/-?\d[\d.]*/g)!
        const shown = listed.slice(listed.indexOf(`"${field}":`))
        for (const number of numbers) expect(shown.slice(0, 200), `${method} ${field}`).toContain(number)
      }
    }
  })

  const VERDICTS: readonly (readonly [
    field: string,
    accepted: readonly string[],
    refused: readonly string[],
  ])[] = [
    ['most', ['9223372036854775807', '1'], ['9223372036854775808']],
    ['least', ['-9223372036854775808'], ['-9223372036854775809']],
    ['below', ['9007199254740993.25', '9007199254740992'], ['9007199254740993.5', '9007199254740994']],
    ['steps', ['18014398509481986', '0'], ['18014398509481984', '9007199254740992']],
    ['cents', ['19.99', '0.07', '1.1', '123456789012345678.91'], ['19.999', '0.001']],
    ['one', ['9007199254740993', '12345678901234567890'], ['9007199254740992', '12345678901234567891']],
    ['only', ['0.1234567890123456789012345', '1234567890123456789012345e-25'], ['0.12345678901234568']],
    ['list', ['[9007199254740993]'], ['[9007199254740994]', '[1,9007199254740995]']],
  ]
  it.each(VERDICTS)('%s is compared exactly', async (field, accepted, refused) => {
    const call = (value: string) =>
      gateway.post('/mcp/tools/call', `{"name":"${tool}","arguments":{"${field}":${value}}}`, token)
    for (const value of accepted) {
      const response = await call(value)
      expect(response.status, response.text).toBe(200)
      expect(last().body).toBe(`{"${field}":${value}}`)
    }
    for (const value of refused) {
      const response = await call(value)
      expect(response.status, `${value}: ${response.text}`).toBe(400)
      expect(response.json.message).toContain(`/${field}`)
    }
  })
})

it('a fixed value of a ToolSet is sent with its digits', async () => {
  await sendOk('rest', 'fixed', '{}')
  expect(last().body).toBe('{"one":12345678901234567890}')
})
