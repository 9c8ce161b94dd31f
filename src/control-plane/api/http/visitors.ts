/** Visitors without a token: their principal, their limit, and cacheable responses for them. */

import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { BoundedMap } from '../../../base/async/bounded-map.ts'
import { ANONYMOUS } from '../../../model/principal.ts'
import { networkOf } from '../../../net/server/client-address.ts'
import type { WebPeer } from '../../../net/server/web.ts'
import type { VisitorOptions } from '../options.ts'
import type { Standing } from './access.ts'
import { headerOf } from './access-log.ts'
import { notFound, Problem } from './problem.ts'

const MINUTE_MS = 60_000
/** Beyond it the networks that were first seen are evicted. */
const MAX_NETWORKS = 20_000
/** How long browsers and caches in front may serve a page of the catalog. */
const CACHED_SECS = 60

const VISITOR: Standing = {
  principal: ANONYMOUS,
  home: undefined,
  tenant: undefined,
  unknownTenant: undefined,
  crossesTenants: false,
}

/** Requests of one minute for each network, counted by this instance. */
export class VisitorLimit {
  readonly #options: VisitorOptions | undefined
  readonly #now: () => number
  readonly #counts = new BoundedMap<string, { readonly minute: number; count: number }>(MAX_NETWORKS)

  /** @param options undefined: visitors see nothing */
  constructor(options: VisitorOptions | undefined, now: () => number) {
    this.#options = options
    this.#now = now
  }

  /** Counts a request without reading its token. @throws Problem rate_limited; not_found when nothing is for visitors */
  admit(context: Context): Standing {
    if (this.#options === undefined) throw notFound('address')
    const { perMinute, addressOf } = this.#options
    const { peer } = context.env as { readonly peer?: WebPeer }
    const network = networkOf(addressOf({ peerAddress: peer?.peerAddress ?? '', header: headerOf(context) }))
    const nowMs = this.#now()
    const minute = Math.floor(nowMs / MINUTE_MS)
    let entry = this.#counts.get(network)
    if (entry?.minute !== minute) {
      entry = { minute, count: 0 }
      this.#counts.set(network, entry)
    }
    entry.count++
    if (entry.count <= perMinute) return VISITOR
    const retryAfterSecs = Math.ceil(((minute + 1) * MINUTE_MS - nowMs) / 1000)
    throw new Problem(
      'rate_limited',
      `Your IP address (for IPv6, your /64 network) sent more than ${perMinute} requests in this minute. Retry in ${retryAfterSecs} s.`,
      [],
      [['retry-after', String(retryAfterSecs)]],
    )
  }
}

/** A response that is the same for every visitor. */
export function cacheable(context: Context, text: string): Response {
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  context.header('etag', etag)
  context.header('cache-control', `public, max-age=${CACHED_SECS}`)
  const known = (context.req.header('if-none-match') ?? '').split(',')
  // a weak comparison (RFC 9110 §13.1.2): proxies that compress mark tags as weak
  if (known.some(tag => tag.trim().replace(/^W\//, '') === etag)) return context.body(null, 304)
  return context.body(text, 200, { 'content-type': 'application/json' })
}
