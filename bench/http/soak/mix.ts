/** The mix of calls that a soak sends: what clients of a gateway do in a day, refusals among them. */
import { proxiedGet } from '../load/gateway-calls.ts'
import { BATCH, CALL_REST, CALL_RPC, LIST, type LoadRequest, over, PING } from '../load/requests.ts'
import type { Toolgate } from '../load/toolgate.ts'
import { type Prepared, prepare } from '../load/wire.ts'

export interface Kind {
  readonly name: string
  /** Weight of a hundred requests. */
  readonly weight: number
  readonly request: Prepared
}

/** @param viewerToken of a client that may not call tools @param spentKey of a subscription whose limit is used up */
export function mixOf(
  { url, token, apiKey }: Toolgate,
  viewerToken: string,
  spentKey: string,
): readonly Kind[] {
  const bearer = (of: string): Record<string, string> => ({ authorization: `Bearer ${of}` })
  const kind = (name: string, weight: number, request: LoadRequest): Kind => ({
    name,
    weight,
    request: prepare(url, request),
  })
  const get = (key: string): LoadRequest => proxiedGet({ apiKey: key })
  const refused = (status: number, request: LoadRequest): LoadRequest => ({
    ...request,
    status,
    holds: '"error"',
  })
  return [
    kind('tools/call, JSON-RPC', 34, over(CALL_RPC, bearer(token))),
    kind('tools/call, REST', 10, over(CALL_REST, bearer(token))),
    kind('proxied GET', 15, get(apiKey)),
    kind('ping', 20, over(PING, bearer(token))),
    kind('tools/list', 8, over(LIST, bearer(token))),
    kind('batch of 10 calls', 2, over(BATCH, bearer(token))),
    kind('refused: 401', 4, refused(401, CALL_REST)),
    kind('refused: 403', 4, refused(403, over(CALL_REST, bearer(viewerToken)))),
    kind('refused: 429', 3, refused(429, get(spentKey))),
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
