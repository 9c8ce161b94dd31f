/** Identity at the start: documents of the provider are fetched and judged, the development key made; or no provider. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CompactSign, compactVerify, importJWK } from 'jose'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadSigningKeys } from '../../../src/identity/dev-provider/signing-key.ts'
import { discoverEndpoints, discoveryUrl } from '../../../src/identity/discovery.ts'
import { fetchJsonOver } from '../../../src/identity/fetch-json.ts'
import { NO_TOKENS } from '../../../src/identity/no-provider.ts'
import { createEgress } from '../../../src/net/egress/client.ts'

describe('documents of the provider', () => {
  let server: Server
  let url: string
  let response: { status: number; body: string | undefined }
  let accepted: string | undefined
  const egress = createEgress({ allow: [], allowLoopback: true })
  beforeEach(async () => {
    response = { status: 200, body: '{}' }
    server = createServer((request, reply) => {
      accepted = request.headers.accept
      if (response.body !== undefined) reply.writeHead(response.status).end(response.body)
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realm`
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })
  afterAll(() => egress.close())
  const fetchJson = fetchJsonOver(egress, 30_000)

  it('are JSON of any kind', async () => {
    response.body = '[1,"ü"]'
    expect(await fetchJson(url)).toEqual({ ok: true, json: [1, 'ü'] })
    expect(accepted).toBe('application/json')
  })

  it.each([
    ['another status', { status: 404 }, 'responded with status 404'],
    ['another form', { body: '<html>' }, 'is not JSON'],
    ['more than 512 KiB', { body: `"${'x'.repeat(512 * 1024)}"` }, 'responded with more than 524288 bytes'],
  ])('with %s are refused with a reason', async (_, change, reason) => {
    Object.assign(response, change)
    const fetched = await fetchJson(url)
    expect(fetched).toEqual({ ok: false, reason: expect.stringContaining(reason) })
  })

  it.each([404, 200])('are named without their query when refused: %d', async status => {
    Object.assign(response, { status, body: '<html>' })
    const fetched = await fetchJson(`${url}?key=canary`)
    expect(fetched).toEqual({ ok: false, reason: expect.stringContaining(`${url} `) })
    expect(JSON.stringify(fetched)).not.toContain('canary')
  })

  it('without a response in time are refused with a reason', async () => {
    response.body = undefined
    const reason = expect.stringContaining('did not respond completely within 200 ms')
    expect(await fetchJsonOver(egress, 200)(url)).toEqual({ ok: false, reason })
  })

  const discover = (document: unknown, issuer = 'https://idp.example/realm/') => {
    const asked: string[] = []
    const found = discoverEndpoints(issuer, async address => {
      asked.push(address)
      return { ok: true, json: document }
    })
    return found.then(result => ({ ...result, asked }))
  }

  it('are looked for below the issuer, with or without its slash', async () => {
    expect(discoveryUrl('https://idp.example/realm//')).toBe(
      'https://idp.example/realm/.well-known/openid-configuration',
    )
    const issuer = 'https://idp.example/realm/'
    expect(await discover({ issuer, jwks_uri: 'https://idp.example/certs' })).toEqual({
      ok: true,
      jwksUri: 'https://idp.example/certs',
      asked: ['https://idp.example/realm/.well-known/openid-configuration'],
    })
  })

  it.each([
    [
      'names another issuer',
      { issuer: 'https://idp.example/realm', jwks_uri: 'https://idp.example/certs' },
      'has the issuer "https://idp.example/realm", not "https://idp.example/realm/"; if "https://idp.example/realm" is correct, set AUTH_ISSUER to exactly this value',
    ],
    ['has a long issuer', { issuer: 'x'.repeat(300) }, `has the issuer "${'x'.repeat(256)}", not`],
    ['has no issuer', {}, 'has no issuer'],
    ['is not an object', 'text', 'is not a JSON object'],
    ['has no address of keys', { issuer: 'https://idp.example/realm/' }, 'no jwks_uri'],
    [
      'has an address of another scheme',
      { issuer: 'https://idp.example/realm/', jwks_uri: 'file:///certs' },
      'no jwks_uri',
    ],
    [
      'hides an address within a text',
      { issuer: 'https://idp.example/realm/', jwks_uri: ' https://idp.example' },
      'no jwks_uri',
    ],
  ])('are of no use when the discovery document %s', async (_, document, reason) => {
    expect(await discover(document)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) })
  })

  it('keep the reason of a failed fetch', async () => {
    const failed = { ok: false, reason: 'unreachable' } as const
    expect(await discoverEndpoints('https://idp.example', async () => failed)).toBe(failed)
  })
})

describe('without a provider', () => {
  it('every token is refused, and nothing is missing before the gateway is ready', () => {
    expect(NO_TOKENS.verify('any', 0)).toMatchObject({ kind: 'refusal', reason: 'token_unknown_key' })
    expect(NO_TOKENS.ready).toBe(true)
    expect(NO_TOKENS.clearCache()).toBe(0)
    expect(() => NO_TOKENS.close()).not.toThrow()
  })
})

describe('the key of the development provider', () => {
  let dir = ''
  const file = () => join(dir, 'data', 'dev-identity', 'jwks.json')
  const load = () => loadSigningKeys(join(dir, 'data'))
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'signing-key-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('is made once, in a file for its owner alone', async () => {
    const keys = await load()
    expect(keys.keys).toMatchObject([{ alg: 'RS256', use: 'sig', kty: 'RSA', kid: expect.any(String) }])
    expect(keys.keys[0]!.d).toBeDefined()
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(statSync(join(dir, 'data', 'dev-identity')).mode & 0o777).toBe(0o700)
    chmodSync(file(), 0o644)
    expect(await load()).toEqual(keys)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual(keys)
  })

  it.each(['', '{"keys":[]}', '{"keys":{}}', 'null'])('is not taken from a file with %j', async text => {
    mkdirSync(join(dir, 'data', 'dev-identity'), { recursive: true })
    writeFileSync(file(), text)
    await expect(load()).rejects.toThrow(`${file()} is not a key set, or is damaged. Delete the file`)
  })

  it('is refused with a flipped bit, or signs as before', async () => {
    const { kty, n, e, kid } = (await load()).keys[0] as { kty: string; n: string; e: string; kid: string }
    const published = await importJWK({ kty, n, e }, 'RS256')
    const whole = readFileSync(file())
    const step = 97
    let refused = 0
    for (let at = 0; at < whole.length; at += step) {
      writeFileSync(file(), Buffer.from(whole.map((byte, place) => (place === at ? byte ^ 1 : byte))))
      const loaded = await load().catch(error => {
        expect(error.message).toContain(`${file()} is not a key set, or is damaged`)
        refused++
      })
      if (loaded === undefined) continue
      expect(loaded.keys.map(key => key.kid)).toEqual([kid])
      const signed = new CompactSign(Buffer.from('x')).setProtectedHeader({ alg: 'RS256' })
      await compactVerify(await signed.sign(await importJWK(loaded.keys[0]!, 'RS256')), published)
    }
    // most numbers of the key are there twice: the library signs by others when the result of some is wrong
    expect(refused).toBeGreaterThan(0)
  })

  it('is not made where the file cannot be read', async () => {
    mkdirSync(file(), { recursive: true })
    await expect(load()).rejects.toThrow('EISDIR')
  })
})
