/** What is fuzzed: each target takes bytes and throws when a property does not hold. */
import { isDeepStrictEqual } from 'node:util'
import { parseCost } from '../../src/base/parse-cost.ts'
import { runCompileJob } from '../../src/catalog/sync/compile-job.ts'
import { Http1Error } from '../../src/net/egress/http1/response-handler.ts'
import { ResponseParser } from '../../src/net/egress/http1/response-parser.ts'
import { checkHead } from '../../src/net/server/guard.ts'
import { inputEncoder } from '../../src/policy/encode-input.ts'
import type { PolicyInput } from '../../src/policy/engine.ts'
import { READS_ALL } from '../../src/policy/reads.ts'
import { preparedTool } from '../fixtures/prepared-tool.ts'
import { openapi, toolSet, withBody } from '../unit/catalog/build.ts'

export interface Target {
  /** Inputs that the first mutations start from. */
  readonly seeds: readonly string[]
  /** @throws Error naming the property that does not hold */
  run(bytes: Buffer): void
}

const LIMITS = { maxUrlBytes: 8_192, maxHeaderBytes: 16_384, maxHeaders: 64 }
const encode = inputEncoder(READS_ALL)

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return undefined
  }
}

/** As a peer writes it: a request line and headers. */
function head(bytes: Buffer): void {
  const [line = '', ...lines] = bytes.toString('latin1').split('\r\n')
  const [method = '', target = ''] = line.split(' ')
  const [path = '', query = ''] = target.split('?')
  const rawHeaders = lines.flatMap(one => {
    const colon = one.indexOf(':')
    return colon < 0
      ? [one.toLowerCase(), '']
      : [one.slice(0, colon).toLowerCase(), one.slice(colon + 1).trim()]
  })
  const outcome = checkHead({ method, path, query, rawHeaders }, LIMITS as never, true)
  if (typeof outcome === 'string') return
  const count = (name: string) => rawHeaders.filter((one, at) => at % 2 === 0 && one === name).length
  if (!Number.isSafeInteger(outcome) || outcome < -1) throw new Error(`the length is ${outcome}`)
  if (count('host') !== 1) throw new Error('accepted without one Host')
  if (count('content-length') + count('transfer-encoding') > 1) throw new Error('accepted with two framings')
  if (/[^!-~]/.test(path + query)) throw new Error('accepted a target with other than visible ASCII')
}

/** The events of a response whose bytes arrive in pieces of this size. */
function received(bytes: Buffer, size: number): unknown {
  const seen: { status: number[]; body: Buffer[]; error: string; used: number } = {
    status: [],
    body: [],
    error: '',
    used: 0,
  }
  const parser = new ResponseParser({
    head: ({ status }) => void seen.status.push(status),
    data: chunk => void seen.body.push(Buffer.from(chunk)),
  })
  parser.begin('GET')
  try {
    for (let at = 0; at < bytes.length && !parser.done; at += size) {
      const piece = Buffer.from(bytes.subarray(at, at + size))
      seen.used += parser.feed(piece, piece.length)
    }
    if (!parser.done) parser.close()
  } catch (error) {
    if (!(error instanceof Http1Error)) throw error
    seen.error = 'refused'
    // how far the parser came before it found the error depends on the pieces
    return { error: seen.error }
  }
  return { ...seen, body: Buffer.concat(seen.body).toString('latin1') }
}

function response(bytes: Buffer): void {
  const whole = received(bytes, Math.max(1, bytes.length))
  for (const size of [1, 7])
    if (!isDeepStrictEqual(received(bytes, size), whole))
      throw new Error(`pieces of ${size} bytes are read differently`)
}

function openApi(bytes: Buffer): void {
  const outcome = runCompileJob({ document: bytes.toString(), toolSet: toolSet() })
  if (outcome.kind !== 'compiled') return
  for (const tool of outcome.result.tools) {
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(tool.name)) throw new Error(`a tool has the name ${tool.name}`)
    if (tool.inputSchema.type !== 'object') throw new Error('an input schema is not of an object')
    const { validate, buildRequest } = preparedTool(tool)
    const faults = validate({})
    if (faults.some(({ message }) => message.startsWith('cannot be checked')))
      throw new Error(`no validator: ${faults[0]!.message}`)
    if (faults.length === 0) buildRequest({})
  }
}

function regoInput(bytes: Buffer): void {
  const value = jsonOf(bytes)
  const text = bytes.toString()
  const args = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : { text }
  const input: PolicyInput = {
    subject: {
      type: 'token',
      id: text,
      properties: { consumer: text, tenant: text, roles: [text], scopes: [] },
    },
    action: { name: text },
    resource: {
      type: 'tool',
      id: text,
      properties: { tenant: null, toolSet: text, tags: [text], annotations: { ...args } },
    },
    context: { access: 'rest', time: 1, plan: text, arguments: { ...args } },
  }
  if (JSON.stringify(JSON.parse(encode(input))) !== JSON.stringify(input)) {
    const same = isDeepStrictEqual(JSON.parse(encode(input)), JSON.parse(JSON.stringify(input)))
    if (!same) throw new Error('the policy reads another input than the one that was encoded')
  }
}

function jsonCost(bytes: Buffer): void {
  const cost = parseCost(bytes, Number.POSITIVE_INFINITY)
  if (!(cost >= 0 && cost < bytes.length * 1_000 + 1_000)) throw new Error(`the bound is ${cost}`)
}

const SCHEMA = {
  type: 'object',
  required: ['a'],
  properties: {
    a: { type: 'string', pattern: '^[a-z]+(-[a-z]+)*$' },
    b: { oneOf: [{ enum: [1, '2'] }, { $ref: '#/components/schemas/B' }] },
  },
}

export const TARGETS: { readonly [name: string]: Target } = {
  head: {
    seeds: [
      'GET /mcp?x=1 HTTP/1.1\r\nHost: localhost:8080\r\nAccept: */*',
      'POST /mcp HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 12\r\nX-A: b',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked',
    ],
    run: head,
  },
  response: {
    seeds: [
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: timeout=5\r\n\r\nhello',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n',
      'HTTP/1.0 204 No Content\r\n\r\n',
    ],
    run: response,
  },
  openapi: {
    seeds: [
      JSON.stringify({
        ...withBody(SCHEMA),
        components: { schemas: { B: { type: 'array', items: { $ref: '#/components/schemas/B' } } } },
      }),
      JSON.stringify(
        openapi({
          '/a/{id}': {
            parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
            get: { operationId: 'getA', tags: ['x'] },
          },
        }),
      ),
    ],
    run: openApi,
  },
  'rego-input': { seeds: ['{"a":1,"__proto__":{"b":[null,true]}}', 'text "with" \\ quotes'], run: regoInput },
  'json-cost': { seeds: ['[{"a":1,"b":"\\"x"},[],{}]'], run: jsonCost },
}
