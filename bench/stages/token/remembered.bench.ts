/** A bearer token that was verified before, 4,096 of them in use: the cache of the verifier beside a bare Map and lru-cache. */
import { LRUCache } from 'lru-cache'
import type { BenchCase, Suite } from '../../suite.ts'
import { freshStrings, signTokens, verifierOf } from './signed-tokens.ts'

const NOW_MS = Date.now()
const IN_USE = 4096
/** Tokens for one run. A request's own header is still in the processor's cache when it is looked up; what is cached need not be. */
const SHOWN = 64

async function cases(): Promise<readonly BenchCase[]> {
  // how they are signed makes no difference here, and these are signed fastest
  const signed = await signTokens('ES256', IN_USE)
  const verifier = await verifierOf(signed)
  const map = new Map(signed.tokens.map((token, at) => [token, at]))
  const lru = new LRUCache<string, number>({ max: 2 * IN_USE, ttl: 300_000 })
  for (const [token, at] of map) {
    await verifier.verify(token, NOW_MS)
    lru.set(token, at)
  }
  const verify = (token: string): void => {
    const verified = verifier.verify(token, NOW_MS)
    if (!('tenant' in verified) || verified.tenant !== 'acme') throw new Error('a wrong response')
  }
  const inMap = (token: string): void => {
    if (map.get(token) === undefined) throw new Error('not in the map')
  }
  const inLru = (token: string): void => {
    if (lru.get(token) === undefined) throw new Error('not in the cache')
  }
  const each = (id: string, inUse: number, look: (token: string) => void, of?: string): BenchCase => {
    let shown: string[] = []
    let at = 0
    return {
      id,
      perRun: SHOWN,
      ...(of === undefined ? undefined : { of }),
      prepare() {
        shown = freshStrings(signed.tokens.slice(at, at + SHOWN))
        at = (at + SHOWN) % inUse
      },
      run() {
        for (const token of shown) look(token)
      },
    }
  }
  return [
    // a few callers that call often
    each('active', SHOWN, verify, 'active/map'),
    each('active/map', SHOWN, inMap),
    // all of them in turn: what is cached has left the processor's cache
    each('4096', IN_USE, verify, '4096/map'),
    each('4096/map', IN_USE, inMap),
    each('4096/lru-cache', IN_USE, inLru),
  ]
}

export default {
  id: 'stages/token/remembered',
  title: 'A bearer token of 1 KB that was verified before, its string fresh from the listener',
  cases,
} satisfies Suite
