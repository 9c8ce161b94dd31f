/**
 * The least that a call with all checks costs on this listener: each check once and in place, on one pooled record for each connection to
 * the backend, without stages, without an exchange and without anything that a call of the ladder does not need. It is a bound for what a
 * fast path could reach, not a gateway: a request that differs from that of the ladder ends the process.
 */
import { mkdtempSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { continueWith } from '../../../src/base/and-then.ts'
import { Deadlines, NOT_WATCHED, type Watched } from '../../../src/base/async/deadlines.ts'
import { newSpanId, randomHex } from '../../../src/base/random-ids.ts'
import { textMessage } from '../../../src/data-plane/http/mcp/text-message.ts'
import type { CallOrigin } from '../../../src/data-plane/metering/meter.ts'
import { SpoolWriter } from '../../../src/data-plane/metering/spool/spool-writer.ts'
import type { QuotaGrant } from '../../../src/data-plane/quota/quota.ts'
import type { ResponseHead } from '../../../src/net/egress/http1/response-head.ts'
import { ResponseParser, type ResponseSink } from '../../../src/net/egress/http1/response-parser.ts'
import type { HttpHandler, HttpRequest, HttpResponse } from '../../../src/net/server/listener.ts'
import { Metrics } from '../../../src/telemetry/metrics.ts'
import { createMemoryQuota } from '../../../test/fixtures/memory-quota.ts'
import { signTokens } from '../../stages/token/signed-tokens.ts'
import { openSocket, type SocketOwner } from './floor.ts'

const TOOL = 'get_order'
const CONSUMER = 'client-0'
const LIMITS = { perSecond: 2e9, perMinute: 2e9, perDay: 2e9, perMonth: 2e9 }
const REVISION = 'ladder'
const TIMEOUT_MS = 30_000
/** Headers that would lead elsewhere: a session, a page of a browser, a trace and ids of the caller. */
const ELSEWHERE = ['mcp-session-id', 'origin', 'traceparent', 'x-request-id', 'x-api-key'] as const
const BEFORE_ID = Buffer.from('{"jsonrpc":"2.0","id":')
const BEFORE_TEXT = Buffer.from(',"result":{"content":[{"type":"text","text":"')
const AFTER_TEXT = Buffer.from('"}],"isError":false}}')
const ORIGIN: CallOrigin = {
  tenantId: 'acme',
  consumerId: CONSUMER,
  subscriptionId: '',
  apiId: '',
  tool: TOOL,
  toolset: 'orders',
  access: 'jsonrpc',
  policyRevision: REVISION,
  encoded: undefined,
}

/** @param path of the one request, without the id at its end */
export async function leastRung(
  upstream: string,
  path: string,
): Promise<{ readonly handler: HttpHandler; readonly token: string }> {
  const signed = await signTokens('ES256', 1)
  const token = signed.tokens[0]!
  const authorization = `Bearer ${token}`
  const expiresAtMs = Date.now() + 86_400_000
  const quota = createMemoryQuota()
  const key = quota.key(`acme/${CONSUMER}`)
  const parts = { backend: new URL(upstream), path, metrics: new Metrics(10_000), meter: openMeter() }
  const deadlines = new Deadlines<PooledCall>(TIMEOUT_MS, call => call.close())
  const idle: PooledCall[] = []

  const handler: HttpHandler = (request, response) => {
    const nowMs = Date.now()
    if (request.header('authorization') !== authorization || nowMs >= expiresAtMs) throw unlike('a token')
    if (request.header('content-type') !== 'application/json') throw unlike('a content type')
    for (const name of ELSEWHERE) if (request.header(name) !== '') throw unlike(name)
    request.readBody(
      1 << 20,
      bytes => {
        const envelope = JSON.parse(Buffer.from(bytes).toString())
        const id = envelope?.params.arguments?.id
        if (envelope?.params.name !== TOOL || typeof id !== 'string' || id.length > 64) throw unlike('a call')
        const granted = quota.take({ key, limits: LIMITS, nowMs })
        if (granted instanceof Promise || !granted.granted) throw unlike('a quota')
        const call = idle.pop() ?? new PooledCall(parts, deadlines, idle)
        call.begin(request, response, envelope.id, id, nowMs, granted)
      },
      () => {
        throw unlike('a long body')
      },
    )
  }
  return { handler, token }
}

function openMeter(): SpoolWriter {
  return new SpoolWriter({
    directory: join(mkdtempSync(join(tmpdir(), 'toolgate-least-')), 'metering'),
    durability: 'batch',
    segmentBytes: 16 * 1024 * 1024,
    gateway: 'ladder',
    onFault: fault => {
      if (fault !== undefined) throw fault
    },
  })
}

interface Parts {
  readonly backend: URL
  readonly path: string
  readonly metrics: Metrics
  readonly meter: SpoolWriter
}

/** A connection to the backend, and the call that it carries. */
class PooledCall implements Watched, ResponseSink, SocketOwner {
  watchedSinceMs: number = NOT_WATCHED
  previous: Watched | undefined
  next: Watched | undefined
  readonly #parts: Parts
  readonly #deadlines: Deadlines<PooledCall>
  readonly #idle: PooledCall[]
  readonly #parser = new ResponseParser(this)
  readonly #socket: Socket
  readonly #headStart: string
  readonly #headEnd: string
  #response: HttpResponse | undefined
  #rpcId: string | number = 0
  #requestId = ''
  #traceId = ''
  #receivedAtMs = 0
  #startedAt = 0
  #requestBytes = 0
  #grant: QuotaGrant | undefined
  #isPlain = false
  #text: Uint8Array | undefined

  constructor(parts: Parts, deadlines: Deadlines<PooledCall>, idle: PooledCall[]) {
    this.#parts = parts
    this.#deadlines = deadlines
    this.#idle = idle
    const { host } = parts.backend
    this.#headStart = `GET ${parts.path}`
    this.#headEnd = ` HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\nx-request-id: `
    this.#socket = openSocket<PooledCall>(this, parts.backend, idle)
  }

  begin(
    request: HttpRequest,
    response: HttpResponse,
    rpcId: string | number,
    id: string,
    nowMs: number,
    grant: QuotaGrant,
  ): void {
    this.#response = response
    this.#rpcId = rpcId
    this.#requestId = randomHex(16)
    this.#traceId = randomHex(16)
    this.#receivedAtMs = nowMs
    this.#startedAt = performance.now()
    this.#requestBytes = request.contentLength
    this.#grant = grant
    this.#parser.begin('GET')
    const ids = `${this.#requestId}\r\ntraceparent: 00-${this.#traceId}-${newSpanId()}-01\r\n\r\n`
    this.#socket.write(`${this.#headStart}${encodeURIComponent(id)}${this.#headEnd}${ids}`, 'latin1')
    this.#deadlines.watch(this)
  }

  close(): void {
    this.#socket.destroy()
  }

  head(head: ResponseHead): void {
    this.#isPlain = head.status === 200 && head.keepAlive && head.get('content-type') === 'application/json'
  }

  data(content: Uint8Array): void {
    this.#text = content
  }

  read(bytes: Buffer, length: number): void {
    this.#parser.feed(bytes, length)
    if (!this.#parser.done) return
    if (!this.#isPlain || this.#text === undefined) throw unlike('a response of the backend')
    this.#deadlines.unwatch(this)
    const ms = performance.now() - this.#startedAt
    this.#parts.metrics.call(CONSUMER, 200, 'success', 'tools.call', ms / 1000, ms / 1000)
    this.#grant!.release()
    const us = Math.round(ms * 1000)
    const written = this.#parts.meter.record(ORIGIN, {
      occurredAtMs: this.#receivedAtMs,
      requestId: this.#requestId,
      outcome: 'success',
      statusCode: 200,
      latencyUs: us,
      backendLatencyUs: us,
      requestBytes: this.#requestBytes,
      responseBytes: this.#text.byteLength,
      tokensSavedBytes: 0,
      cacheHit: false,
      counted: true,
      decisionId: '',
    })
    continueWith(written, () => this.#respond())
  }

  #respond(): void {
    const { limit, remaining, resetAtSecs } = this.#grant!.standing!
    const message = textMessage(
      [BEFORE_ID, JSON.stringify(this.#rpcId), BEFORE_TEXT],
      this.#text!,
      AFTER_TEXT,
    )
    const headers = [
      'x-request-id',
      this.#requestId,
      'x-trace-id',
      this.#traceId,
      'x-content-type-options',
      'nosniff',
      'content-type',
      'application/json',
      'x-ratelimit-limit',
      String(limit),
      'x-ratelimit-remaining',
      String(remaining),
      'x-ratelimit-reset',
      String(resetAtSecs),
      'x-policy-revision',
      REVISION,
    ]
    this.#response!.send(200, headers, message!)
    this.#idle.push(this)
  }
}

function unlike(what: string): Error {
  return new Error(`the call has ${what} that those of the ladder do not have`)
}
