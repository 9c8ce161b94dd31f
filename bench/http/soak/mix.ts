/** The mix of calls that a soak sends: what clients of a gateway do in a day, refusals among them. It sends nothing. */
import {
  BATCH,
  CALL_REST,
  CALL_RPC,
  FORWARDED_GET,
  LIST,
  type LoadRequest,
  over,
  PING,
} from '../load/requests.ts'
import type { Toolgate } from '../load/toolgate.ts'
import { type Prepared, prepare } from '../load/wire.ts'

export interface Kind {
  readonly name: string
  /** Of a hundred requests. */
  readonly weight: number
  readonly request: Prepared
}

/** @param agentToken of a consumer whose limit is used up */
export function mixOf(
  { url, token, apiKey }: Toolgate,
  tokens: { readonly agent: string; readonly viewer: string },
): readonly Kind[] {
  const bearer = (of: string): Record<string, string> => ({ authorization: `Bearer ${of}` })
  const kind = (name: string, weight: number, request: LoadRequest): Kind => ({
    name,
    weight,
    request: prepare(url, request),
  })
  const refused = (status: number, headers: Record<string, string>): LoadRequest => ({
    ...over(CALL_REST, headers),
    status,
    holds: '"error"',
  })
  return [
    kind('tools/call, JSON-RPC', 34, over(CALL_RPC, bearer(token))),
    kind('tools/call, REST', 10, over(CALL_REST, bearer(token))),
    kind('proxied GET', 15, over(FORWARDED_GET, { 'x-api-key': apiKey }, '/t/acme/bench')),
    kind('ping', 20, over(PING, bearer(token))),
    kind('tools/list', 8, over(LIST, bearer(token))),
    kind('batch of 10 calls', 2, over(BATCH, bearer(token))),
    kind('refused: 401', 4, refused(401, {})),
    kind('refused: 403', 4, refused(403, bearer(tokens.viewer))),
    kind('refused: 429', 3, refused(429, bearer(tokens.agent))),
  ]
}

/** In an order that is the same in every run and has no pattern a cache could learn. */
export function drawer(kinds: readonly Kind[]): () => Kind {
  const hundred = kinds.flatMap(kind => Array.from({ length: kind.weight }, () => kind))
  let state = 1
  return () => {
    // Marsaglia's xorshift32
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return hundred[(state >>> 0) % hundred.length]!
  }
}
