/** The rules of an API for calls of its upstream, made ready from its traffic rules, and which URLs are those of the upstream. */
import type { Traffic } from '../../model/schema/traffic.ts'
import type { AddressesRule, MirrorRule } from '../../model/schema/upstream-addresses.ts'
import type { CircuitRule, RetryRule } from '../../model/schema/upstream-rules.ts'
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
import { originOf } from '../../model/upstream-url.ts'

export interface UpstreamRules {
  /** Equal rules have the same key: what was learned about the upstream under them stays valid. */
  readonly key: string
  readonly retry: RetryRule | null
  readonly circuit: CircuitRule | null
  readonly addresses: AddressesRule | null
  readonly mirror: MirrorRule | null
  /** For health checks; undefined: one HTTP/1.1 request in flight on each connection. */
  readonly checkTransport: UpstreamTransport | undefined
  /** What URLs of its calls begin with, without trailing slash. */
  readonly baseUrl: string
  /** As tools have it: the canonical form of the same address. */
  readonly toolsUrl: string
}

/** @param id of the API @returns undefined: the API has none of these rules, and its calls go the way of all others. */
export function upstreamRulesOf(
  id: string,
  upstreamUrl: string,
  traffic: Traffic | undefined,
): UpstreamRules | undefined {
  const {
    retry = null,
    circuitBreaker: circuit = null,
    upstreams: addresses = null,
    mirror = null,
    connections,
  } = traffic ?? {}
  if (retry === null && circuit === null && addresses === null && mirror === null) return undefined
  const rules = {
    retry,
    circuit,
    addresses,
    mirror,
    checkTransport: connections?.http2 === true ? { http2: true } : undefined,
    baseUrl: upstreamUrl.replace(/\/+$/, ''),
    toolsUrl: canonical(upstreamUrl),
  }
  return Object.freeze({ ...rules, key: JSON.stringify([id, rules]) })
}

/** What follows the address of the upstream in a URL; undefined: the URL has another one. */
export function restOf({ baseUrl, toolsUrl }: UpstreamRules, url: string): string | undefined {
  for (const base of [baseUrl, toolsUrl]) {
    const rest = url.startsWith(base) ? url.slice(base.length) : undefined
    if (rest === '' || rest?.startsWith('/') === true || rest?.startsWith('?') === true) return rest
  }
  return undefined
}

function canonical(upstreamUrl: string): string {
  const origin = originOf(upstreamUrl)
  if (origin === undefined) return upstreamUrl
  const { pathname } = new URL(upstreamUrl)
  return `${origin}${pathname.replace(/\/+$/, '')}`
}
