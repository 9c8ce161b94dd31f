/** The rungs between the floor and the gateway, each with the parts of the one before and one more, and the variants of `invoke`. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AccessCheck } from '../../../src/data-plane/http/access-check.ts'
import { AccessWatch } from '../../../src/data-plane/http/access-watch.ts'
import { AttemptLimit } from '../../../src/data-plane/http/attempt-limit.ts'
import { Call } from '../../../src/data-plane/http/call.ts'
import { Cors } from '../../../src/data-plane/http/cors.ts'
import type { GatewayParts } from '../../../src/data-plane/http/gateway.ts'
import { readJson } from '../../../src/data-plane/http/json-body.ts'
import { McpEndpoint } from '../../../src/data-plane/http/mcp/endpoint.ts'
import { createKernel } from '../../../src/data-plane/kernel/create.ts'
import { SpoolWriter } from '../../../src/data-plane/metering/spool/spool-writer.ts'
import { compose } from '../../../src/data-plane/pipeline/compose.ts'
import type { Stage } from '../../../src/data-plane/pipeline/stage.ts'
import { fileKeyRing } from '../../../src/data-plane/sessions/key-ring.ts'
import { MemorySessionStore } from '../../../src/data-plane/sessions/memory/store.ts'
import { verifyCredentials } from '../../../src/data-plane/stages/2-identify/authenticate.ts'
import { ResourceWatches } from '../../../src/mcp/client/resource-watches.ts'
import type { UpstreamTransport } from '../../../src/model/upstream-transport.ts'
import { socketPathOf } from '../../../src/model/upstream-url.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { BackendTokens } from '../../../src/net/egress/oauth/backend-tokens.ts'
import { heldBytes } from '../../../src/net/held-bytes.ts'
import { clientAddresses } from '../../../src/net/server/client-address.ts'
import type { HttpHandler } from '../../../src/net/server/listener.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { aPrincipal } from '../../../test/fixtures/exchange.ts'
import { callParts } from '../../stages/calls.ts'
import { signTokens, verifierOf } from '../../stages/token/signed-tokens.ts'
import { framed, rawPool } from './floor.ts'
import { RUNGS, type Rung, VARIANTS, type Variant } from './rung-list.ts'

export const BACKEND_PATH = '/orders/P-1001'

/** Stages of the pipeline by the rung that adds them. */
const ADDED: readonly (readonly [Rung, readonly string[]])[] = [
  ['invoke', ['resolve-tool', 'refuse-gone-api', 'begin-task', 'list-tools', 'invoke-tool']],
  [
    'token',
    [
      'admit-within-bounds',
      'leave-bounds',
      'share-places',
      'admit-by-traffic-rules',
      'authenticate',
      'bind-session',
      'require-subscription',
    ],
  ],
  ['quota', ['take-quota', 'refuse-unknown-tool', 'release-quota']],
  [
    'decision',
    ['authorize', 'match-headers', 'validate-arguments', 'ask-client', 'limit-decision', 'confirm-call'],
  ],
  ['settle', ['count-usage', 'optimize-result', 'record-metrics', 'log-access', 'invoke-proxy']],
  ['meter', ['admit-metered', 'meter-call']],
]

/** The handler of a rung, and the token that its callers send. */
export async function openRung(
  rung: Rung | Variant,
  upstream: string,
): Promise<{ readonly handler: HttpHandler; readonly token: string }> {
  const variant = VARIANTS.find(({ id }) => id === rung)
  if (variant !== undefined)
    return pipelineRung('invoke', upstream, 'transport' in variant ? variant.transport : undefined)
  if (rung === 'listener' || rung === 'envelope') {
    const trip = rawPool(upstream, BACKEND_PATH)
    return { handler: rung === 'listener' ? listenerRung(trip) : envelopeRung(trip), token: 'none' }
  }
  return pipelineRung(rung as Rung, upstream)
}

function listenerRung(trip: ReturnType<typeof rawPool>): HttpHandler {
  return (request, response) =>
    request.readBody(
      1 << 20,
      () => trip(body => response.send(200, ['content-type', 'application/json'], framed(body))),
      () => response.send(413, []),
    )
}

const HELD_BYTES = heldBytes(2 ** 30)

function envelopeRung(trip: ReturnType<typeof rawPool>): HttpHandler {
  const cors = corsOf()
  return (request, response) => {
    const call = new Call(request, response, cors.headers(request.header('origin')), Date.now(), HELD_BYTES)
    readJson(call, 1 << 20, body => {
      if (body.kind === 'refusal') throw new Error('the body is not a call')
      trip(text => call.respond(200, framed(text)))
    })
  }
}

async function pipelineRung(
  rung: Rung,
  upstream: string,
  transport?: UpstreamTransport,
): Promise<{ readonly handler: HttpHandler; readonly token: string }> {
  const dir = mkdtempSync(join(tmpdir(), 'toolgate-ladder-'))
  const signed = await signTokens('ES256', 1)
  const tokens = await verifierOf(signed)
  const meter = new SpoolWriter({
    directory: join(dir, 'metering'),
    durability: 'batch',
    segmentBytes: 16 * 1024 * 1024,
    gateway: 'ladder',
    onFault: fault => {
      if (fault !== undefined) throw fault
    },
  })
  const socketPath = socketPathOf(upstream)
  const allow = socketPath === undefined ? [] : [`unix:${socketPath}`]
  const egress = createEgress({ allow, allowLoopback: true, unixSockets: true })
  const { stages, snapshot } = await callParts(tokens, {
    baseUrl: upstream,
    transport,
    egress,
    meter,
  })
  const verify = isBelowToken(rung) ? () => CALLER : verifyCredentials(tokens, undefined)
  const parts = gatewayParts(dir, compose(stagesOf(rung, stages), rethrow), verify)
  const cors = corsOf()
  const mcp = new McpEndpoint(parts, cors, {
    keys: fileKeyRing(join(dir, 'session-keys')),
    watches: new ResourceWatches({
      egress,
      tokens: new BackendTokens({ egress, now: Date.now }),
      client: { name: 'bench', version: '1' },
    }),
    limiter: { enabled: false, maxPerIp: 1, maxPerTenant: 1, maxTotal: 1, newPerMinutePerIp: 1 },
    streams: { heartbeatMs: 15_000, idleTimeoutMs: 60_000, maxDurationMs: 60_000 },
    clientAddress: call => clientAddresses([])(call.request),
    onStreamRefused: () => {},
    onStreamEnded: () => {},
  })
  return {
    handler(request, response) {
      const call = new Call(request, response, cors.headers(request.header('origin')), Date.now(), HELD_BYTES)
      mcp.post(call, snapshot)
    },
    token: signed.tokens[0]!,
  }
}

/** Those of the rung and of all below; before `token`, every caller is the same one. */
function stagesOf(rung: Rung, all: readonly Stage[]): readonly Stage[] {
  const names = RUNGS.map(([name]) => name)
  const ids = new Set(
    ADDED.flatMap(([name, added]) => (names.indexOf(name) <= names.indexOf(rung) ? added : [])),
  )
  const known = new Set(ADDED.flatMap(([, added]) => added))
  const unknown = all.find(({ id }) => !known.has(id))
  if (unknown !== undefined) throw new Error(`stage "${unknown.id}" belongs to no rung; add it to ADDED`)
  const chosen = all.filter(({ id }) => ids.has(id))
  return isBelowToken(rung) ? [ANYONE, ...chosen] : chosen
}

function isBelowToken(rung: Rung): boolean {
  const names = RUNGS.map(([name]) => name)
  return names.indexOf(rung) < names.indexOf('token')
}

const CALLER = aPrincipal({ tenant: 'acme', consumer: 'client-0' })
const ANYONE: Stage = {
  id: 'anyone',
  phase: 'identify',
  run(exchange) {
    exchange.principal = CALLER
    exchange.tenant = CALLER.tenant
    return undefined
  },
}

/** No configuration changes while a rung is measured. */
const UNCHECKED: AccessCheck = { endOf: () => Number.POSITIVE_INFINITY, refusalOf: () => undefined }

function gatewayParts(
  dir: string,
  pipeline: GatewayParts['pipeline'],
  verify: GatewayParts['verifyCredentials'],
): GatewayParts {
  const { kernel } = createKernel()
  const attempts = new AttemptLimit({
    buckets: kernel,
    perMinute: 0,
    clientAddress: clientAddresses([]),
    trusted: [],
    nowMs: Date.now,
  })
  return {
    pipeline,
    snapshot: () => undefined,
    snapshotFault: () => undefined,
    faultyParts: () => [],
    keysReady: () => true,
    memoryFull: () => false,
    draining: () => false,
    heldBytes: HELD_BYTES,
    sessions: new MemorySessionStore({
      keys: fileKeyRing(join(dir, 'session-keys')),
      ttlMs: 60_000,
      maxSessions: 1,
      now: Date.now,
    }),
    access: new AccessWatch({ check: UNCHECKED, snapshot: () => undefined, nowMs: Date.now }),
    attempts,
    registrations: attempts,
    recordOAuth() {},
    url: 'http://127.0.0.1',
    pages: {},
    name: 'toolgate',
    version: '0',
    presentation: {},
    maxBodyBytes: 1 << 20,
    maxResultBytes: 100 * 1024,
    taskLimits: { maxTtlMs: 60_000, maxPerCaller: 8, maxResultBytes: 1024 },
    listingOf: () => undefined,
    verifyCredentials: verify,
    nowMs: Date.now,
    log: SILENT,
  }
}

function corsOf(): Cors {
  return new Cors({
    origins: [],
    methods: ['GET', 'POST'],
    allowHeaders: [],
    exposeHeaders: [],
    maxAgeSecs: 600,
    ownOrigin: 'http://127.0.0.1',
  })
}

function rethrow(error: unknown): never {
  throw error
}
