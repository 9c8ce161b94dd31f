/** Benches of token and API-key verification, beside jose and a bare Map in the same run. It sets no budget. */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { Bench } from 'tinybench'
import { generateApiKey } from '../../src/identity/api-key-format.ts'
import { type ApiKeyRecord, createApiKeyVerifier } from '../../src/identity/api-keys.ts'
import { createTokenVerifier } from '../../src/identity/jwks.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { AUDIENCE, freshStrings, ISSUER, type SignedTokens, signTokens } from './signed-tokens.ts'

const NOW_MS = Date.now()
const IN_USE = 4096
const HOT = 64
const FIRST_SIGHT = 32
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA']

/** One task: it runs `perRun` operations, so its latency is divided by that. */
export interface StageRow {
  readonly name: string
  readonly perRun: number
}

type Add = (name: string, perRun: number, run: () => unknown, prepare: () => void) => void

/** @returns the bench, not yet run, and what each of its tasks stands for. Every operation asserts its answer. */
export async function build(): Promise<{ readonly bench: Bench; readonly rows: readonly StageRow[] }> {
  const bench = new Bench({ time: 500, warmupTime: 200, throws: true })
  const rows: StageRow[] = []
  const add: Add = (name, perRun, run, prepare) => {
    rows.push({ name, perRun })
    bench.add(name, run, { beforeEach: prepare })
  }
  await addRemembered(await signTokens('ES256', IN_USE), add)
  for (const alg of ALGORITHMS) await addFirstSight(alg, await signTokens(alg, FIRST_SIGHT), add)
  addApiKeys(add)
  return { bench, rows }
}

async function verifierOf({ jwk }: SignedTokens) {
  const verifier = createTokenVerifier({
    issuer: ISSUER,
    jwksUri: `${ISSUER}/certs`,
    audiences: [AUDIENCE],
    resourceUris: [],
    fetchJson: async () => ({ ok: true, json: { keys: [jwk] } }),
    log: SILENT,
  })
  verifier.start()
  while (!verifier.ready) await new Promise(resolve => setTimeout(resolve, 1))
  return verifier
}

async function addRemembered(signed: SignedTokens, add: Add): Promise<void> {
  const verifier = await verifierOf(signed)
  const bare = new Map(signed.tokens.map((token, at) => [token, at]))
  for (const token of signed.tokens) await verifier.verify(token, NOW_MS)
  let shown: string[] = []
  let at = 0
  for (const count of [HOT, IN_USE]) {
    // A request's own header is still in the cache when it is looked up; what is remembered need not be.
    const prepare = (): void => {
      shown = freshStrings(signed.tokens.slice(at, at + HOT))
      at = (at + HOT) % count
    }
    const remembered = (): void => {
      for (const token of shown) {
        const verified = verifier.verify(token, NOW_MS)
        if (!('tenant' in verified) || verified.tenant !== 'acme') throw new Error('a wrong answer')
      }
    }
    const inMap = (): void => {
      for (const token of shown) if (bare.get(token) === undefined) throw new Error('not in the map')
    }
    add(`token remembered, ${count} in use`, HOT, remembered, prepare)
    add(`  beside it: bare Map.get(token), ${count} in use`, HOT, inMap, prepare)
  }
}

async function addFirstSight(alg: string, signed: SignedTokens, add: Add): Promise<void> {
  const verifier = await verifierOf(signed)
  const keys = createLocalJWKSet({ keys: [signed.jwk] })
  let shown: string[] = []
  const prepare = (): void => {
    verifier.forget()
    shown = freshStrings(signed.tokens)
  }
  const firstSight = (): void => {
    for (const token of shown) {
      const verified = verifier.verify(token, NOW_MS)
      if (!('tenant' in verified) || verified.tenant !== 'acme') throw new Error('a wrong answer')
    }
  }
  const withJose = async (): Promise<void> => {
    for (const token of shown) {
      const { payload } = await jwtVerify(token, keys, {
        issuer: ISSUER,
        audience: AUDIENCE,
        algorithms: ALGORITHMS,
        clockTolerance: 30,
        requiredClaims: ['exp'],
      })
      if (payload.tenant_id !== 'acme') throw new Error('a wrong answer')
    }
  }
  add(`token first sight, ${alg}`, FIRST_SIGHT, firstSight, prepare)
  add(`  beside it: jose.jwtVerify, ${alg}`, FIRST_SIGHT, withJose, prepare)
  const key = createPublicKey({ key: signed.jwk as JsonWebKey, format: 'jwk' })
  const hash = alg === 'EdDSA' ? null : 'sha256'
  const parts = signed.tokens.map(token => {
    const end = token.lastIndexOf('.')
    return {
      data: Buffer.from(token.slice(0, end)),
      signature: Buffer.from(token.slice(end + 1), 'base64url'),
    }
  })
  const signatureAlone = (): void => {
    for (const { data, signature } of parts)
      if (!verify(hash, data, { key, dsaEncoding: 'ieee-p1363' }, signature))
        throw new Error('a wrong answer')
  }
  add(`  beside it: the signature alone, ${alg}`, FIRST_SIGHT, signatureAlone, prepare)
}

function addApiKeys(add: Add): void {
  const made = Array.from({ length: IN_USE }, generateApiKey)
  const table = new Map(
    made.map(({ digest }): [string, ApiKeyRecord] => [
      digest.prefix,
      {
        id: digest.prefix,
        hash: digest.hash,
        status: 'active',
        expiresAtMs: undefined,
        application: 'app',
        tenant: 'acme',
        subscriptionId: 'sub',
        roles: [],
        scopes: ['read'],
      },
    ]),
  )
  const verifier = createApiKeyVerifier({ lookup: prefix => table.get(prefix) })
  const texts = made.map(({ key }) => key)
  let shown: string[] = []
  let at = 0
  const prepare = (): void => {
    shown = texts.slice(at, at + HOT).map(text => Buffer.from(text, 'latin1').toString('latin1'))
    at = (at + HOT) % IN_USE
  }
  const verifyAll = (): void => {
    for (const key of shown) {
      const verified = verifier.verify(key, NOW_MS)
      if (!('tenant' in verified) || verified.tenant !== 'acme') throw new Error('a wrong answer')
    }
  }
  for (const text of texts) void verifier.verify(text, NOW_MS)
  add(`API key remembered, ${IN_USE} in use`, HOT, verifyAll, prepare)
  add('API key first sight', HOT, verifyAll, () => {
    verifier.forget()
    prepare()
  })
}

/** `npx tsx bench/stages/token-verification.ts` prints the table by itself. */
async function main(): Promise<void> {
  const { bench, rows } = await build()
  await bench.run()
  console.table(
    rows.map(({ name, perRun }) => {
      const result = bench.getTask(name)!.result
      if (!('latency' in result)) throw new Error(`${name} did not finish`)
      const ns = (ms: number): number => Math.round((ms * 1e6) / perRun)
      return { name, 'median ns': ns(result.latency.p50), 'p99 ns': ns(result.latency.p99) }
    }),
  )
}

if (process.argv[1] === import.meta.filename) await main()
