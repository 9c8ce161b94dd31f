/** A gateway's stages made of real parts, without backend and metering file unless given, and calls as they come from the wire. */

import { readFileSync } from 'node:fs'
import { Cancellation } from '../../src/base/cancellation.ts'
import { ArgumentChecker } from '../../src/base/json-schema/argument-check.ts'
import { EventEncoder, MAX_EVENT_BYTES } from '../../src/data-plane/metering/event-encoder.ts'
import { newWriterName } from '../../src/data-plane/metering/event-id.ts'
import type { CallOrigin, Meter, MeteredCall } from '../../src/data-plane/metering/meter.ts'
import type { ExchangeInit } from '../../src/data-plane/pipeline/exchange.ts'
import type { Reply } from '../../src/data-plane/pipeline/outcome.ts'
import type { Stage } from '../../src/data-plane/pipeline/stage.ts'
import { ApiCache } from '../../src/data-plane/proxy/api-cache/api-cache.ts'
import type { Snapshot } from '../../src/data-plane/snapshot/snapshot.ts'
import { admitWithinBounds } from '../../src/data-plane/stages/1-admit/admit-within-bounds.ts'
import { LargeTexts } from '../../src/data-plane/stages/5-invoke/large-texts.ts'
import { ResultCache } from '../../src/data-plane/stages/5-invoke/result-cache.ts'
import { UsageCounter } from '../../src/data-plane/stages/6-settle/count-usage.ts'
import { stages } from '../../src/data-plane/stages/index.ts'
import { prepareTool } from '../../src/data-plane/tool-request/prepare-tool.ts'
import type { StartedTokenVerifier } from '../../src/identity/jwks.ts'
import { EMPTY_CONTENT, seal } from '../../src/link/document.ts'
import type { ParameterBinding } from '../../src/model/tool.ts'
import type { UpstreamTransport } from '../../src/model/upstream-transport.ts'
import type { Egress } from '../../src/net/egress/egress.ts'
import { BackendTokens } from '../../src/net/egress/oauth/backend-tokens.ts'
import { RuledUpstreams } from '../../src/net/egress/ruled-upstreams.ts'
import { Upstreams } from '../../src/net/egress/upstreams.ts'
import { createOpaWasmEngine } from '../../src/policy/opa-wasm/engine.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { compile } from '../../test/fixtures/compile.ts'
import { aTool } from '../../test/fixtures/exchange.ts'
import { mcpSessions } from '../../test/fixtures/mcp-sessions.ts'
import { createMemoryQuota } from '../../test/fixtures/memory-quota.ts'
import { freshStrings } from './token/signed-tokens.ts'

const checker = new ArgumentChecker()

export interface CallParts {
  /** With a backend that responds at once, unless `egress` was given. */
  readonly stages: readonly Stage[]
  readonly snapshot: Snapshot
}

export interface CallOptions {
  /** For the one tool; absent: its results are not cached. */
  readonly cache?: { readonly ttlMs: number }
  /** Base URL of the one tool. */
  readonly baseUrl?: string
  /** For the one tool's upstream. */
  readonly transport?: UpstreamTransport | undefined
  /** Absent: a backend that responds at once. */
  readonly egress?: Egress
  /** Absent: a queue in memory. */
  readonly meter?: Meter
}

export async function callParts(tokens: StartedTokenVerifier, options: CallOptions = {}): Promise<CallParts> {
  const { cache, baseUrl, transport } = options
  const fields = aTool({
    ...(cache === undefined ? {} : { cache }),
    ...(transport === undefined ? {} : { upstream: transport }),
  })
  const bundle = readFileSync(new URL('../../policies/bundle.tar.gz', import.meta.url))
  const policy = await createOpaWasmEngine().prepare(bundle)
  const content = {
    ...EMPTY_CONTENT,
    tools: [
      baseUrl === undefined
        ? fields
        : { ...fields, request: { ...fields.request, baseUrl, parameters: [ID] } },
    ],
    plans: [{ slug: 'open', name: 'Open', perSecond: 2e9, perMinute: 2e9, perDay: 2e9, perMonth: 2e9 }],
    consumers: Object.fromEntries(Array.from({ length: 4096 }, (_, at) => [`client-${at}`, 'open'])),
  }
  const egress = options.egress ?? {
    request: async () => RESPONSE,
    stream: () => Promise.reject(new Error('not used')),
    close: async () => {},
  }
  const parts = stages({
    admission: admitWithinBounds(Number.MAX_SAFE_INTEGER),
    tokens,
    apiKeys: undefined,
    quota: createMemoryQuota(),
    clientAddress: ({ peerAddress }) => peerAddress,
    clientNetwork: ({ peerAddress }) => peerAddress,
    egress,
    upstreams: new RuledUpstreams(egress),
    proxied: {
      upstreams: new Upstreams({ egress }),
      ruled: new RuledUpstreams(egress),
      cache: new ApiCache(Date.now),
    },
    mcpSessions: mcpSessions(egress),
    backendTokens: new BackendTokens({ egress, now: Date.now }),
    maxResponseBytes: 1_000_000,
    textReplies: true,
    results: new ResultCache(),
    largeTexts: new LargeTexts(),
    usage: new UsageCounter().stage,
    meter: options.meter ?? new Queue(),
    metrics: new Metrics(10_000),
    accessLog: { wanted: true, write: record => void JSON.stringify(record) },
    accessLogSample: 0.01,
  })
  return {
    stages: parts,
    snapshot: compile(seal(content), { policy, prepare: tool => prepareTool(tool, checker) }),
  }
}

/** Every stage but the call of the backend, in whose place a reply is at hand: nothing but what the gateway itself does. */
export function withoutBackend(parts: readonly Stage[]): Stage[] {
  return parts.map(stage =>
    stage.id === 'invoke-tool'
      ? {
          id: stage.id,
          phase: stage.phase,
          run: ({ operation }) => (operation.action === 'tools.call' ? REPLY : undefined),
        }
      : stage,
  )
}

/** What the gateway hands over for calls of one tool, one for each token, every text as new as the listener makes it. */
export function freshCalls(
  snapshot: Snapshot,
  tokens: readonly string[],
  operation: (at: number) => ExchangeInit['operation'],
): ExchangeInit[] {
  const texts = freshStrings(tokens)
  const receivedAtMs = Date.now()
  return texts.map((token, at) => ({
    requestId: Buffer.from(`${at}-`.padEnd(32, '7c9e')).toString('latin1'),
    traceId: Buffer.from('0af7651916cd43dd8448eb211c80319c').toString('latin1'),
    parentSpanId: undefined,
    traceFlags: '01',
    access: 'jsonrpc',
    snapshot,
    operation: operation(at),
    credentials: { authorization: token, apiKey: '', tenant: '' },
    peer: { peerAddress: '127.0.0.1' },
    cancellation: new Cancellation(),
    receivedAtMs,
  }))
}

/** The queue of the spool without the file behind it: a full one begins again. */
class Queue implements Meter {
  readonly ready = true
  readonly #buffer = Buffer.alloc(1024 * 1024)
  readonly #encoder = new EventEncoder(newWriterName(), 'gateway-1')
  #filled = 0
  #number = 0

  record(origin: CallOrigin, call: MeteredCall): undefined {
    if (this.#buffer.length - this.#filled < MAX_EVENT_BYTES) this.#filled = 0
    this.#filled = this.#encoder.write(this.#buffer, this.#filled, ++this.#number, origin, call)
    return undefined
  }
}

const ID: ParameterBinding = { argument: 'id', name: 'id', in: 'path', style: 'simple', explode: false }

const RESPONSE = {
  kind: 'response',
  status: 200,
  headers: { get: (name: string) => (name === 'content-type' ? 'application/json' : ''), raw: [] },
  body: new TextEncoder().encode('{"id":"7"}'),
} as const

const REPLY: Reply = {
  kind: 'reply',
  result: { content: [{ type: 'text', text: '{"id":"7"}' }], isError: false },
  backendStatus: 200,
}
