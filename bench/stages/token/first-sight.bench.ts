/** A bearer token seen for the first time, beside jose and beside the bare signature in the same run. */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import type { BenchCase, Suite } from '../../suite.ts'
import { AUDIENCE, freshStrings, ISSUER, signTokens, verifierOf } from './signed-tokens.ts'

const NOW_MS = Date.now()
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const
/** Few, so that most runs end before the machine turns to something else. */
const SHOWN = 8

async function cases(): Promise<readonly BenchCase[]> {
  return (await Promise.all(ALGORITHMS.map(casesOf))).flat()
}

async function casesOf(alg: (typeof ALGORITHMS)[number]): Promise<BenchCase[]> {
  const name = alg.toLowerCase()
  const signed = await signTokens(alg, 16 * SHOWN)
  const verifier = await verifierOf(signed)
  const keys = createLocalJWKSet({ keys: [signed.jwk] })
  let at = 0
  let shown: string[] = []
  const prepare = (): void => {
    verifier.clearCache()
    shown = freshStrings(signed.tokens.slice(at, at + SHOWN))
    at = (at + SHOWN) % signed.tokens.length
  }
  const key = createPublicKey({ key: signed.jwk as JsonWebKey, format: 'jwk' })
  const hash = alg === 'EdDSA' ? null : 'sha256'
  const parts = signed.tokens.map(token => {
    const end = token.lastIndexOf('.')
    return {
      data: Buffer.from(token.slice(0, end)),
      signature: Buffer.from(token.slice(end + 1), 'base64url'),
    }
  })
  return [
    {
      id: name,
      of: `${name}/jose`,
      perRun: SHOWN,
      prepare,
      run() {
        for (const token of shown) {
          const verified = verifier.verify(token, NOW_MS)
          if (!('tenant' in verified) || verified.tenant !== 'acme') throw new Error('a wrong response')
        }
      },
    },
    {
      id: `${name}/jose`,
      perRun: SHOWN,
      prepare,
      async run() {
        for (const token of shown) {
          const { payload } = await jwtVerify(token, keys, {
            issuer: ISSUER,
            audience: AUDIENCE,
            algorithms: [...ALGORITHMS],
            clockTolerance: 30,
            requiredClaims: ['exp'],
          })
          if (payload.tenant_id !== 'acme') throw new Error('a wrong response')
        }
      },
    },
    {
      id: `${name}/signature-alone`,
      perRun: SHOWN,
      prepare,
      run() {
        for (const { data, signature } of parts.slice(at, at + SHOWN))
          if (!verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature))
            throw new Error('a wrong response')
      },
    },
  ]
}

export default {
  id: 'stages/token/first-sight',
  title: 'A bearer token of 1 KB seen for the first time: signature, claims, principal, and what is cached',
  cases,
} satisfies Suite
