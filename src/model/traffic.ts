/** The traffic rules of an API, their limits, the headers that they may set, and the methods that they allow. */
import type { CacheRule } from './api-cache.ts'
import type { CorsRule } from './api-cors.ts'
import {
  isWithheldFromUpstream,
  NEVER_FORWARDED,
  NEVER_RETURNED,
  WITHHELD_FROM_CLIENTS,
} from './passthrough.ts'
import type { AddressesRule, CircuitRule, MirrorRule, RetryRule } from './upstream-rules.ts'
import type { UpstreamTransport } from './upstream-transport.ts'

export interface HeaderRules {
  /** Name in lower case → value, in place of any value on the way. */
  readonly set: { readonly [name: string]: string }
  /** In lower case. */
  readonly remove: readonly string[]
}

export interface Traffic {
  /** Upper case; HEAD is part of GET. null: every method. */
  readonly methods: readonly string[] | null
  /** null: any size. */
  readonly maxRequestBytes: number | null
  /** From the start of the call to the last byte received, all attempts included; null: as the gateway has it. */
  readonly timeoutMs: number | null
  readonly requestHeaders: HeaderRules
  readonly responseHeaders: HeaderRules
  /** null, and absent from rules that were stored before: as the gateway has it. */
  readonly retry?: RetryRule | null
  readonly circuitBreaker?: CircuitRule | null
  readonly cors?: CorsRule | null
  readonly cache?: CacheRule | null
  readonly upstreams?: AddressesRule | null
  readonly mirror?: MirrorRule | null
  /** null: one HTTP/1.1 request in flight on each connection. */
  readonly connections?: UpstreamTransport | null
}

export const TRAFFIC_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
export const MIN_TIMEOUT_MS = 100
export const MAX_TIMEOUT_MS = 300_000

/** They describe the body and the connection, which the gateway handles. */
const OF_THE_BODY: ReadonlySet<string> = new Set(['content-length', 'content-encoding'])

/** True for a header of requests that an API may set. @param name in lower case */
export function maySetRequestHeader(name: string): boolean {
  return !NEVER_FORWARDED.has(name) && !isWithheldFromUpstream(name) && !OF_THE_BODY.has(name)
}

/** True for a header of responses that an API may set. @param name in lower case */
export function maySetResponseHeader(name: string): boolean {
  const isWithheld = (WITHHELD_FROM_CLIENTS as readonly string[]).includes(name)
  return (
    !NEVER_RETURNED.has(name) && !isWithheld && !OF_THE_BODY.has(name) && !name.startsWith('access-control-')
  )
}

export function allowsMethod({ methods }: Traffic, method: string): boolean {
  return methods === null || methods.includes(method === 'HEAD' ? 'GET' : method)
}
