/** An API key cached and at first sight, 4,096 in use, beside a bare Map of plaintext keys. */
import { generateApiKey } from '../../src/identity/api-key-format.ts'
import { type ApiKeyRecord, createApiKeyVerifier } from '../../src/identity/api-keys.ts'
import type { ApiKeyVerifier } from '../../src/identity/verifier.ts'
import type { BenchCase, Suite } from '../suite.ts'

const NOW_MS = Date.now()
const IN_USE = 4096
const SHOWN = 64

function cases(): readonly BenchCase[] {
  const made = Array.from({ length: IN_USE }, generateApiKey)
  const texts = made.map(({ key }) => key)
  const table = new Map(made.map(({ digest }) => [digest.prefix, recordOf(digest)]))
  const plaintext = new Map(made.map(({ key, digest }) => [key, recordOf(digest)]))
  const verifier = (): ApiKeyVerifier => createApiKeyVerifier({ lookup: prefix => table.get(prefix) })
  const [caching, clearing] = [verifier(), verifier()]
  const verifyBy = (one: ApiKeyVerifier) => (key: string) => {
    const verified = one.verify(key, NOW_MS)
    if (!('tenant' in verified) || verified.tenant !== 'acme') throw new Error('a wrong response')
  }
  const inMap = (key: string): void => {
    if (plaintext.get(key)?.tenant !== 'acme') throw new Error('not in the map')
  }
  for (const text of texts) void caching.verify(text, NOW_MS)
  const each = (id: string, look: (key: string) => void, before?: () => void): BenchCase => {
    let shown: string[] = []
    let at = 0
    return {
      id,
      perRun: SHOWN,
      ...(id === 'map' ? undefined : { of: 'map' }),
      prepare() {
        before?.()
        shown = texts.slice(at, at + SHOWN).map(text => Buffer.from(text, 'latin1').toString('latin1'))
        at = (at + SHOWN) % IN_USE
      },
      run() {
        for (const key of shown) look(key)
      },
    }
  }
  return [
    each('remembered', verifyBy(caching)),
    each('first-sight', verifyBy(clearing), () => void clearing.clearCache()),
    each('map', inMap),
  ]
}

const recordOf = ({ prefix, hash }: { readonly prefix: string; readonly hash: string }): ApiKeyRecord => ({
  id: prefix,
  hash,
  status: 'active',
  expiresAtMs: undefined,
  application: 'app',
  tenant: 'acme',
  subscriptionId: 'sub',
  apiIds: ['api'],
  roles: [],
  scopes: ['read'],
})

export default {
  id: 'stages/api-key',
  title:
    'An API key, its string fresh from the listener; the Map holds keys in plaintext, which no gateway may',
  cases,
} satisfies Suite
