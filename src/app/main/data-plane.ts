/**
 * The data plane of one thread: listener, pipeline and the snapshot it answers from. Configuration arrives as plain changes, and
 * what was counted leaves as plain rows, so it may run in the main thread or behind a port. It opens no store and no source.
 */
import { Admin } from '../../data-plane/http/admin.ts'
import { PolicyAdmin } from '../../data-plane/http/admin-policy.ts'
import { AttemptLimit } from '../../data-plane/http/attempt-limit.ts'
import { clientAddresses, trustOf } from '../../data-plane/http/client-address.ts'
import { Cors } from '../../data-plane/http/cors.ts'
import type { GatewayParts } from '../../data-plane/http/gateway.ts'
import { kernelRoutes } from '../../data-plane/http/kernel-routes.ts'
import { listingChanges } from '../../data-plane/http/listing-changes.ts'
import { McpEndpoint } from '../../data-plane/http/mcp/endpoint.ts'
import type { StreamSlots } from '../../data-plane/http/mcp/stream-limiter.ts'
import { createOAuthFront } from '../../data-plane/http/oauth/front.ts'
import { providerAdminOf } from '../../data-plane/http/oauth/provider-admin.ts'
import { ApiProxy } from '../../data-plane/http/proxy.ts'
import { RestTools } from '../../data-plane/http/rest.ts'
import { createRouter } from '../../data-plane/http/router.ts'
import { createKernel } from '../../data-plane/kernel/create.ts'
import { CallReader } from '../../data-plane/kernel/envelope.ts'
import type { Meter } from '../../data-plane/metering/meter.ts'
import { compose } from '../../data-plane/pipeline/compose.ts'
import type { Quota } from '../../data-plane/quota/quota.ts'
import type { KeyRing } from '../../data-plane/sessions/key-ring.ts'
import type { SessionStore } from '../../data-plane/sessions/session-store.ts'
import { SnapshotCompiler } from '../../data-plane/snapshot/compile.ts'
import type { Deliver } from '../../data-plane/snapshot/configuration.ts'
import { SnapshotHolder } from '../../data-plane/snapshot/holder.ts'
import { keyLookup } from '../../data-plane/snapshot/key-records.ts'
import { admitWithinBounds } from '../../data-plane/stages/1-admit/admit-within-bounds.ts'
import { listTools } from '../../data-plane/stages/5-invoke/list-tools.ts'
import { ResultCache } from '../../data-plane/stages/5-invoke/result-cache.ts'
import { UsageCounter, type UsageDelta } from '../../data-plane/stages/6-settle/count-usage.ts'
import { stages } from '../../data-plane/stages/index.ts'
import { prepareTool } from '../../data-plane/tool-request/prepare-tool.ts'
import { createApiKeyVerifier } from '../../shared/identity/api-keys.ts'
import { VERSION } from '../../shared/version.ts'
import { type AppContext, MAX_BODY_BYTES, type OpenListener } from './app-context.ts'
import { openVerifier } from './identity.ts'
import { usageComesFromEvents } from './metering.ts'
import { openGatewayPolicy } from './policy.ts'
import type { PolicyOwner } from './policy-served.ts'
import { showSessions } from './session-gauges.ts'
import { openTraces } from './traces.ts'
import { openUpstreams } from './upstreams.ts'

const MAX_BACKEND_RESPONSE_BYTES = 8 * 1024 * 1024
const HEARTBEAT_MS = 15_000

/** The keys also sign request states. */
export interface OpenSessions {
  readonly sessions: SessionStore
  readonly keys: KeyRing
}

export interface DataPlaneParts {
  readonly context: AppContext
  /** Open already: with port 0 the gateway's own address follows from it. */
  readonly server: OpenListener
  /** Public address without trailing slash. */
  readonly gatewayUrl: string
  readonly issuer: string
  /** One set of counters for all threads of the process. */
  readonly quota: Quota
  readonly sessions: OpenSessions
  /** Places for event streams that another thread counts; counted here when absent. */
  readonly places?: StreamSlots
  /** Who owns the policy bundles; the owner of this thread when absent. */
  readonly policyOwner?: PolicyOwner
  /** Of this thread. */
  readonly meter: Meter
}

export interface DataPlane {
  /** Threads that serve calls. */
  readonly workers: number
  /** Compiles and serves a document. @returns why it cannot; the last one is then still served */
  readonly apply: Deliver
  status(): 'online' | 'degraded' | 'draining'
  /** What was counted since it was last asked; it is not given twice. */
  takeUsage(): UsageDelta
  /** Readiness off, no new connection, streams told, calls in flight finished until `untilMs` (Unix ms). Never rejects. */
  drain(untilMs: number): Promise<void>
}

export async function startDataPlane(plane: DataPlaneParts): Promise<DataPlane> {
  const { context, server, gatewayUrl, issuer, quota, meter } = plane
  const { settings, log, closers, clock, metrics, egress, conditions } = context
  const tokens = openVerifier(context, issuer, gatewayUrl)
  const traces = await openTraces(context)
  const policy = await openGatewayPolicy(context, plane.policyOwner)
  const { sessions, keys } = plane.sessions
  closers.add('sessions', () => sessions.close())

  // ---- configuration flows down
  const compiler = new SnapshotCompiler(prepareTool)
  const holder = new SnapshotHolder(document => compiler.compile(document, policy.current()))
  const apiKeys = createApiKeyVerifier({ lookup: keyLookup(() => holder.current) })

  // ---- requests flow right
  const results = new ResultCache()
  const usage = new UsageCounter(!usageComesFromEvents(settings))
  const admission = admitWithinBounds(settings.maxInFlight)
  const pipeline = compose(
    stages({
      admission,
      tokens,
      apiKeys,
      quota,
      egress,
      maxResponseBytes: MAX_BACKEND_RESPONSE_BYTES,
      results,
      usage: usage.stage,
      meter,
      decisions: policy.decisions,
      metrics,
      accessLog: { wanted: log.isLevelEnabled('info'), write: record => log.info(record, 'call') },
      accessLogSample: settings.telemetry.accessLogSample,
      ...(traces.stage === undefined ? {} : { traces: traces.stage }),
    }),
    (error, stage, exchange) => {
      metrics.bug(stage.id)
      log.error({ stage: stage.id, request_id: exchange.requestId, err: error }, 'a stage threw')
    },
    traces.measured,
  )
  let draining = false
  const syncPolicy = plane.policyOwner?.sync
  const fault = (): string | undefined => holder.lastFault ?? conditions.summary
  const { kernel } = createKernel()
  const addressOf = clientAddresses(settings.sse.trustedProxies)
  const attempts = new AttemptLimit({
    buckets: kernel,
    perMinute: settings.preAuthRatePerMin,
    clientAddress: addressOf,
    trusted: settings.sse.trustedProxies,
    nowMs: clock.now,
  })
  const parts: GatewayParts = {
    pipeline,
    snapshot: () => {
      syncPolicy?.()
      return holder.current
    },
    snapshotFault: fault,
    keysReady: () => tokens.ready,
    draining: () => draining,
    sessions,
    attempts,
    url: gatewayUrl,
    name: 'toolgate',
    version: VERSION,
    maxBodyBytes: MAX_BODY_BYTES,
    nowMs: clock.now,
  }
  const cors = new Cors({ ...settings.cors, ownOrigin: new URL(gatewayUrl).origin })
  const mcp = new McpEndpoint(parts, cors, {
    keys,
    calls: new CallReader(kernel.envelope),
    limiter: { ...settings.sse, enabled: settings.sse.limiterEnabled },
    ...(plane.places === undefined ? {} : { places: plane.places }),
    streams: { ...settings.sse, heartbeatMs: HEARTBEAT_MS },
    clientAddress: call => addressOf(call.request),
    onStreamRefused: reason => metrics.streamRefused(reason),
    onStreamEnded: why => metrics.streamEnded(why),
  })
  const caches = {
    api_keys: () => apiKeys.clearCache(),
    tokens: () => tokens.clearCache(),
    decisions: () => policy.current().clearCache(),
    results: () => results.clear(),
    quota_statistics: () => 0,
  }
  const rest = new RestTools(parts)
  const router = createRouter({
    gateway: parts,
    cors,
    rest,
    mcp,
    admin: new Admin(parts, { quota, caches, statisticsTtlMs: settings.quotaStatsTtlMs }, rest),
    policy: new PolicyAdmin(parts, policy.operations, rest),
    oauth: createOAuthFront({
      gatewayUrl,
      issuer: settings.auth.provider === 'none' ? undefined : issuer,
      egress,
      admin: providerAdminOf({ ...settings.auth, issuer, egress, nowMs: clock.now }),
      log,
    }),
    proxy: new ApiProxy(parts, openUpstreams(context), rest, trustOf(settings.sse.trustedProxies)),
    matcher: kernelRoutes(kernel, clock.now),
  })
  const changed = listingChanges(listTools())
  holder.onSwap((next, previous) => {
    // a key that was revoked, or whose subscription was, must not live on in the memory of keys
    apiKeys.clearCache()
    router.load(next)
    if (previous !== undefined) void mcp.announce(previous, next, changed)
  })
  policy.onSwap(next => holder.adopt(next))
  server.handle(router.handler)

  metrics.read('platform_tools', () => holder.current?.toolCount ?? 0)
  showSessions(context, sessions)
  metrics.read('platform_result_cache_hits_total', () => results.counts.hits)
  metrics.read('platform_result_cache_misses_total', () => results.counts.misses)
  metrics.read('platform_results_remembered', () => results.size)
  metrics.read('platform_decisions_remembered', () => policy.current().cached)
  metrics.read('platform_attempts_refused_total', () => attempts.refused)
  metrics.read('platform_streams', () => mcp.openStreams)
  metrics.read('platform_calls_in_flight', () => admission.inFlight())

  return {
    workers: 1,
    apply: document => holder.publish(document),
    status: () => (draining ? 'draining' : fault() === undefined ? 'online' : 'degraded'),
    takeUsage: () => usage.take(),
    async drain(untilMs) {
      draining = true
      log.info({ in_flight: admission.inFlight(), streams: mcp.openStreams }, 'draining')
      server.listener.stopAccepting()
      mcp.close()
      while (admission.inFlight() > 0 && Date.now() < untilMs)
        await new Promise(resolve => setTimeout(resolve, 20))
    },
  }
}
