/** The engine that asks a server: what it sends, what it understands, and that whatever goes wrong is a denial. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createEgress } from '../../../src/net/egress/client.ts'
import type { Egress } from '../../../src/net/egress/egress.ts'
import type { PolicyFailure } from '../../../src/policy/decision.ts'
import type { PreparedPolicy } from '../../../src/policy/engine.ts'
import { createOpaHttpEngine, type OpaHttpOptions } from '../../../src/policy/opa-http/engine.ts'
import { inputOf } from '../../fixtures/policy/inputs.ts'

interface OpaResponse {
  readonly status?: number
  readonly body: string
  readonly delayMs?: number
}

let server: Server
let egress: Egress
let reply: OpaResponse
let asked: { readonly url: string; readonly headers: IncomingMessage['headers']; readonly body: string }[]
let failures: PolicyFailure[]

beforeEach(async () => {
  asked = []
  failures = []
  reply = { body: '{"result":{"allow":true,"reasons":[]}}' }
  server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => (body += String(chunk)))
    request.on('end', () => {
      asked.push({ url: request.url ?? '', headers: request.headers, body })
      const { status = 200, body: text, delayMs = 0 } = reply
      setTimeout(() => response.writeHead(status, { 'content-type': 'application/json' }).end(text), delayMs)
    })
  })
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  egress = createEgress({ allow: [], allowLoopback: true })
})
afterEach(async () => {
  await egress.close()
  server.closeAllConnections()
  await new Promise(closed => server.close(closed))
})

function prepared(
  path = '/v1/data/toolgate/decision',
  options: Partial<OpaHttpOptions> = {},
): Promise<PreparedPolicy> {
  const { port } = server.address() as AddressInfo
  const engine = createOpaHttpEngine({
    url: `http://127.0.0.1:${port}${path}`,
    egress,
    timeoutMs: 5000,
    onFailure: failure => failures.push(failure),
    ...options,
  })
  return engine.prepare(new Uint8Array())
}

describe('asked in OPA’s form', () => {
  it('sends the whole input and asks which revision decides', async () => {
    const policy = await prepared()
    reply = {
      body: JSON.stringify({
        result: { allow: true, reasons: [], obligations: { redact: ['/card'] } },
        provenance: { version: '1', bundles: { b: { revision: 'r2' }, a: { revision: 'r1' } } },
      }),
    }
    const input = inputOf({ context: { arguments: { id: 'é' } } })
    expect(await policy.decide(input, 'caller', 1)).toEqual({
      allow: true,
      reasons: [],
      obligations: { redact: ['/card'] },
      revision: 'r1+r2',
    })
    expect(policy.revision).toBe('r1+r2')
    expect(asked[0]?.url).toBe('/v1/data/toolgate/decision?provenance=true')
    expect(JSON.parse(asked[0]!.body)).toEqual({ input })
  })

  it('hands reasons on', async () => {
    const reasons = [{ code: 'insufficient_scope', message: 'x', scopes: ['read'] }]
    reply = { body: JSON.stringify({ result: { allow: false, reasons } }) }
    expect(await (await prepared()).decide(inputOf(), 'caller', 1)).toMatchObject({ allow: false, reasons })
    expect(failures).toEqual([])
  })
})

describe('asked in AuthZEN’s form', () => {
  it('sends subject, action, resource and context, and reads the decision', async () => {
    const policy = await prepared('/access/v1/evaluation')
    const reasons = [{ code: 'closed', message: 'Closed.' }]
    reply = { body: JSON.stringify({ decision: false, context: { reasons, revision: '7' } }) }
    expect(await policy.decide(inputOf(), 'caller', 1)).toEqual({ allow: false, reasons, revision: '7' })
    expect(asked[0]?.url).toBe('/access/v1/evaluation')
    expect(JSON.parse(asked[0]!.body)).toEqual(inputOf())
    reply = { body: '{"decision":true}' }
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: true })
  })
})

describe('a server that does not give a decision denies', () => {
  it.each<[string, OpaResponse, PolicyFailure]>([
    ['when it has none', { body: '{}' }, 'undefined'],
    ['when the response is not JSON', { body: 'allow' }, 'malformed'],
    ['when allow is not a boolean', { body: '{"result":{"allow":"true"}}' }, 'malformed'],
    ['when the response is a bare true', { body: '{"result":true}' }, 'malformed'],
    ['when it fails', { status: 500, body: '{"result":{"allow":true}}' }, 'unreachable'],
    ['when it sends elsewhere', { status: 302, body: '' }, 'unreachable'],
    ['when the response is too large', { body: `"${'x'.repeat(1_100_000)}"` }, 'too_large'],
  ])('%s', async (_, given, failure) => {
    reply = given
    const decision = await (await prepared()).decide(inputOf(), 'caller', 1)
    expect(decision).toMatchObject({
      allow: false,
      unavailable: true,
      reasons: [{ code: 'policy_unavailable' }],
    })
    expect(failures).toEqual([failure])
  })

  it('when it takes too long', async () => {
    reply = { body: '{"result":{"allow":true}}', delayMs: 400 }
    const policy = await prepared(undefined, { timeoutMs: 100 })
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: false, unavailable: true })
    expect(failures).toEqual(['overtime'])
  })

  it('when no one listens', async () => {
    const policy = await prepared(undefined, { url: 'http://127.0.0.1:1/v1/data/x' })
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: false, unavailable: true })
    expect(failures).toEqual(['unreachable'])
  })

  it('when the policy was closed', async () => {
    const policy = await prepared()
    policy.close()
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: false, unavailable: true })
    expect(asked).toHaveLength(0)
  })
})

describe('a question that cannot be sent', () => {
  it('is denied, and keeps no place of the questions in flight', async () => {
    const policy = await prepared(undefined, { maxInFlight: 1 })
    const unwritable = inputOf({ context: { arguments: { count: 1n } } })
    expect(await policy.decide(unwritable, 'caller', 1)).toMatchObject({ allow: false, unavailable: true })
    expect(failures).toEqual(['trap'])
    reply = { body: '{"result":{"allow":true}}' }
    expect(await policy.decide(inputOf(), 'caller', 1)).toMatchObject({ allow: true })
    expect([policy.cached, policy.clearCache()]).toEqual([0, 0])
  })
})

describe('a server that keeps failing', () => {
  it('is left alone for a while, then tried once, and asked again when it responds', async () => {
    let nowMs = 0
    const policy = await prepared(undefined, { now: () => nowMs })
    const ask = async () => (await policy.decide(inputOf(), 'caller', 1)).allow
    reply = { status: 503, body: '' }
    for (let i = 0; i < 8; i++) expect(await ask()).toBe(false)
    expect(asked).toHaveLength(5)
    nowMs = 1001
    expect(await ask()).toBe(false)
    expect(await ask()).toBe(false)
    expect(asked, 'one try after the first wait').toHaveLength(6)
    nowMs = 2500
    expect(await ask()).toBe(false)
    expect(asked, 'the second wait is longer').toHaveLength(6)
    reply = { body: '{"result":{"allow":true}}' }
    nowMs = 3100
    expect(await ask()).toBe(true)
    expect(await ask()).toBe(true)
    expect(asked).toHaveLength(8)
  })
})

describe('many questions at once', () => {
  it('all get a response, no more than allowed in flight', async () => {
    let inside = 0
    let max = 0
    server.on('request', (_, response) => {
      max = Math.max(max, ++inside)
      response.on('close', () => inside--)
    })
    reply = { body: '{"result":{"allow":true}}', delayMs: 5 }
    const policy = await prepared(undefined, { maxInFlight: 4 })
    const decisions = await Promise.all(
      Array.from({ length: 60 }, () => policy.decide(inputOf(), 'caller', 1)),
    )
    expect(decisions.every(decision => decision.allow)).toBe(true)
    expect(max).toBeLessThanOrEqual(4)
  })

  it('are denied when too many wait already', async () => {
    reply = { body: '{"result":{"allow":true}}', delayMs: 10 }
    const policy = await prepared(undefined, { maxInFlight: 1 })
    const decisions = await Promise.all(
      Array.from({ length: 120 }, () => policy.decide(inputOf(), 'caller', 1)),
    )
    expect(decisions.slice(101).every(decision => decision.unavailable === true)).toBe(true)
    expect(decisions[0]?.allow).toBe(true)
  })
})

describe('the address of the server', () => {
  it.each(['opa:8181', 'ftp://opa/', 'not an address'])('is refused when it is %j', url => {
    expect(() => createOpaHttpEngine({ url, egress })).toThrow('is not the URL of a policy server')
  })

  it('keeps its own query', async () => {
    const policy = await prepared('/v1/data/x?pretty=true&provenance=false')
    await policy.decide(inputOf(), 'caller', 1)
    expect(asked[0]?.url).toBe('/v1/data/x?pretty=true&provenance=false')
  })

  it.each([
    ['/access/v1/evaluation', 'opa', '/access/v1/evaluation?provenance=true'],
    ['/v1/data/toolgate/decision', 'authzen', '/v1/data/toolgate/decision'],
  ] as const)('%s in the form %s asks for the revision as that form does', async (path, form, url) => {
    const policy = await prepared(path, { form })
    await policy.decide(inputOf(), 'caller', 1)
    expect(asked[0]?.url).toBe(url)
  })

  it('may need a credential', async () => {
    const policy = await prepared(undefined, { authorization: 'Bearer t' })
    await policy.decide(inputOf(), 'caller', 1)
    expect(asked[0]?.headers.authorization).toBe('Bearer t')
  })
})
