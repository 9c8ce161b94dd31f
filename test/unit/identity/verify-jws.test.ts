/** Signatures verified by public keys alone, discovery documents that must name their issuer, and tokens without a provider. */
import { CompactSign } from 'jose'
import { describe, expect, it } from 'vitest'
import { discoverEndpoints, discoveryUrl } from '../../../src/identity/discovery.ts'
import { NO_TOKENS } from '../../../src/identity/no-provider.ts'
import { jwsVerifier } from '../../../src/identity/verify-jws.ts'
import { makeKeyPair } from '../../fixtures/key-pair.ts'

describe('a signature over bytes', () => {
  const own = makeKeyPair('ec')
  const other = makeKeyPair('ec')
  // within the tests, so that a mutant of it meets them
  const verify = (jws: string) =>
    jwsVerifier(own.publicKey.export({ type: 'spki', format: 'pem' }) as string)(jws)
  const signed = (key: typeof own.privateKey) =>
    new CompactSign(Buffer.from('content')).setProtectedHeader({ alg: 'ES256' }).sign(key)

  it('gives its payload under its key, and none under another', async () => {
    expect(Buffer.from(await verify(await signed(own.privateKey))).toString()).toBe('content')
    await expect(verify(await signed(other.privateKey))).rejects.toThrow()
    await expect(verify('a.b.c')).rejects.toThrow()
  })

  it('is not accepted with an algorithm that shares its key with the signer', async () => {
    const shared = own.publicKey.export({ type: 'spki', format: 'pem' }) as string
    const forged = await new CompactSign(Buffer.from('content'))
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(shared))
    await expect(verify(forged)).rejects.toThrow('"alg" (Algorithm) Header Parameter value not allowed')
  })

  it('is verified by public keys only', () => {
    const pem = own.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
    expect(() => jwsVerifier(pem)).toThrow('this is a private key; use the public key')
    expect(() => jwsVerifier('nonsense')).toThrow()
  })
})

describe('a discovery document', () => {
  const discover = (json: unknown, issuer = 'https://id.example/realm') =>
    discoverEndpoints(issuer, async () => ({ ok: true, json }) as never)

  it('is where the issuer puts it, whatever slashes end the issuer', () => {
    for (const issuer of ['https://id.example/realm', 'https://id.example/realm//'])
      expect(discoveryUrl(issuer)).toBe('https://id.example/realm/.well-known/openid-configuration')
  })

  it('names the keys of its issuer alone', async () => {
    const issuer = 'https://id.example/realm'
    expect(await discover({ issuer, jwks_uri: 'https://id.example/keys' })).toEqual({
      ok: true,
      jwksUri: 'https://id.example/keys',
    })
    expect(await discover({ issuer: `${issuer}/`, jwks_uri: 'https://id.example/keys' })).toMatchObject({
      ok: false,
      reason: expect.stringContaining(`has the issuer "${issuer}/", not "${issuer}"`),
    })
    for (const document of [null, 'text'])
      expect(await discover(document)).toEqual({
        ok: false,
        reason: 'the OpenID discovery document is not a JSON object',
      })
    for (const jwks_uri of [undefined, 7, 'ftp://id.example/keys', 'x https://id.example/keys'])
      expect(await discover({ issuer, jwks_uri })).toMatchObject({
        ok: false,
        reason: expect.stringContaining('no jwks_uri'),
      })
  })
})

it('without a provider tokens are refused, and there is nothing to wait for', () => {
  expect(NO_TOKENS.verify('token', Date.now())).toMatchObject({ kind: 'refusal' })
  expect([NO_TOKENS.ready, NO_TOKENS.clearCache()]).toEqual([true, 0])
})
