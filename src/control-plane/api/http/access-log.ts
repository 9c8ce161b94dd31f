/** Writes records of requests to the request log, and keeps what the steps of a request find out for it. */
import type { Context, MiddlewareHandler } from 'hono'
import type { Principal } from '../../../model/principal.ts'
import type { HttpRequest } from '../../../net/server/listener.ts'
import type { WebPeer } from '../../../net/server/web.ts'
import { idsOf } from './headers.ts'
import { problemOf } from './problem.ts'

/** One line; the process writes it. No token, key, path, query or body may appear in it. */
export interface RequestRecord {
  readonly request_id: string
  readonly trace_id: string
  readonly method: string
  /** `operationId` of the OpenAPI document; undefined: the address belongs to none. */
  readonly operation: string | undefined
  /** Subject of the token; undefined: the request was not authenticated. */
  readonly actor: string | undefined
  readonly consumer: string | undefined
  /** Tenant of the token. */
  readonly tenant: string | undefined
  /** Address of the client, behind trusted proxies too; undefined for a request of a page that this process serves. */
  readonly client: string | undefined
  readonly status: number
  /** Code of the refusal or failure. */
  readonly error: string | undefined
  /** Until the head of the response. */
  readonly duration_ms: number
}

/** The address of the client that sent a request, through trusted proxies or directly. */
export type AddressOf = (request: Pick<HttpRequest, 'peerAddress' | 'header'>) => string

export interface RequestLog {
  /** Share of the requests with a status below 400 that are written, 0 to 1. */
  readonly sampled: number
  readonly addressOf: AddressOf
  write(record: RequestRecord): void
}

interface Findings {
  operation?: string
  principal?: Principal
}

const found = new WeakMap<Request, Findings>()

/** What the steps of a request have found out; written by them. */
export function findingsOf(context: Context): Findings {
  return found.get(context.req.raw) ?? {}
}

/** Probes come every few seconds and call nothing. */
const PROBES = new Set(['/health', '/ready'])

export function logRequests(log: RequestLog): MiddlewareHandler {
  return async (context, next) => {
    if (PROBES.has(context.req.path)) return next()
    const startedAt = performance.now()
    const findings: Findings = {}
    found.set(context.req.raw, findings)
    await next()
    const { status } = context.res
    if (status < 400 && log.sampled < 1 && Math.random() >= log.sampled) return
    const { operation, principal } = findings
    const { requestId, traceId } = idsOf(context)
    const { peer } = (context.env ?? {}) as { readonly peer?: WebPeer }
    log.write({
      request_id: requestId,
      trace_id: traceId,
      method: context.req.method,
      operation,
      actor: principal?.subject,
      consumer: principal?.consumer,
      tenant: principal?.tenant,
      client: peer && log.addressOf({ peerAddress: peer.peerAddress, header: headerOf(context) }),
      status,
      error: context.error === undefined ? undefined : problemOf(context.error).code,
      duration_ms: Math.round((performance.now() - startedAt) * 1000) / 1000,
    })
  }
}

/** Reads headers of the request; '' for one that is absent. */
export function headerOf(context: Context): (name: string) => string {
  return name => context.req.header(name) ?? ''
}
