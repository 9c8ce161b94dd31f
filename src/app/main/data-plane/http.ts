/** Creates the HTTP endpoints of one data plane with their router, and the limits of attempts. */
import { type EveryThread, ProcessCalls } from '../../../data-plane/calls/process-calls.ts'
import { Admin, type AdminParts } from '../../../data-plane/http/admin/admin.ts'
import { CallsAdmin } from '../../../data-plane/http/admin/admin-calls.ts'
import { OverviewAdmin, type OverviewParts } from '../../../data-plane/http/admin/admin-overview.ts'
import { PolicyAdmin } from '../../../data-plane/http/admin/admin-policy.ts'
import { SimulateAdmin } from '../../../data-plane/http/admin/admin-simulate.ts'
import { AttemptLimit, OF_REGISTRATIONS } from '../../../data-plane/http/attempt-limit.ts'
import { CallStreams } from '../../../data-plane/http/call-streams.ts'
import { Cors } from '../../../data-plane/http/cors.ts'
import type { GatewayParts } from '../../../data-plane/http/gateway.ts'
import { kernelRoutes } from '../../../data-plane/http/kernel-routes.ts'
import { McpEndpoint } from '../../../data-plane/http/mcp/endpoint.ts'
import { createOAuthFront } from '../../../data-plane/http/oauth/front.ts'
import { parseObject } from '../../../data-plane/http/oauth/oauth-response.ts'
import { providerAdminOf } from '../../../data-plane/http/oauth/provider-admin.ts'
import { RestTools } from '../../../data-plane/http/rest.ts'
import { createRouter, type Router } from '../../../data-plane/http/router.ts'
import type { Kernel } from '../../../data-plane/kernel/kernel.ts'
import type { ApiCache } from '../../../data-plane/proxy/api-cache/api-cache.ts'
import { ApiProxy } from '../../../data-plane/proxy/proxy.ts'
import { clientAddresses, trustOf } from '../../../net/server/client-address.ts'
import { limitRepeats } from '../../../telemetry/limited-log.ts'
import type { AppContext } from '../app-context.ts'
import { openResourceWatches } from '../mcp-sessions.ts'
import type { GatewayPolicy } from '../policy.ts'
import { catalogReport } from '../tool-set-statuses.ts'
import type { OpenUpstreams } from '../upstreams.ts'
import type { DataPlaneParts } from './parts.ts'
import type { OpenPipeline } from './pipeline.ts'
import { processState, TOOL_REVIEW } from './signals.ts'
import { simulationOf } from './simulation.ts'

const HEARTBEAT_MS = 15_000
/** Codes of RFC 6749 and RFC 7591 are shorter; a provider may send any text. */
const MAX_ERROR_CHARS = 64

export interface HttpParts {
  readonly plane: DataPlaneParts
  readonly gateway: GatewayParts
  readonly policy: GatewayPolicy
  readonly caches: AdminParts['caches']
  /** For this thread. */
  readonly kernel: Kernel
  readonly everyThread: EveryThread
  readonly upstreams: OpenUpstreams
  readonly responses: ApiCache
  readonly phaseOf: OpenPipeline['phaseOf']
  readonly stages: OpenPipeline['stages']
}

export interface OpenHttp {
  readonly router: Router
  readonly mcp: McpEndpoint
  readonly callStreams: CallStreams
}

export function openHttp(parts: HttpParts): OpenHttp {
  const { plane, gateway, policy, caches, kernel } = parts
  const { context, gatewayUrl, quota, recordAction } = plane
  const { settings, clock } = context
  const cors = new Cors({ ...settings.cors, ownOrigin: new URL(gatewayUrl).origin })
  const mcp = openMcp(plane, gateway, cors)
  const rest = new RestTools(gateway)
  const rights = settings.auth.scopes === 'intersection' ? ('intersection' as const) : undefined
  const calls = new ProcessCalls(parts.everyThread)
  const callStreams = new CallStreams({ calls, access: gateway.access, nowMs: clock.now })
  const router = createRouter({
    gateway,
    cors,
    rest,
    mcp,
    admin: new Admin(
      gateway,
      { quota, caches, recordAction, statisticsTtlMs: settings.quotaStatsTtlMs },
      rest,
    ),
    calls: new CallsAdmin(gateway, { calls, streams: callStreams, phaseOf: parts.phaseOf }, rest),
    overview: new OverviewAdmin(gateway, overviewParts(plane, calls), rest),
    simulation: new SimulateAdmin(gateway, { calls, rights, ...simulationOf(parts.stages, quota) }, rest),
    policy: new PolicyAdmin(gateway, policy.operations, recordAction, rest),
    oauth: openOAuth(plane),
    proxy: new ApiProxy(
      gateway,
      {
        load({ apis }) {
          parts.responses.retain(apis)
          parts.upstreams.load(apis.flatMap(({ upstream }) => upstream ?? []))
        },
        wholeResponses: settings.fastPath,
        isTrusted: trustOf(settings.sse.trustedProxies),
        unsandboxed: new Set(settings.pages.unsandboxedApis),
      },
      rest,
    ),
    matcher: kernelRoutes(kernel),
  })
  return { router, mcp, callStreams }
}

function overviewParts({ context, server, siblings }: DataPlaneParts, calls: ProcessCalls): OverviewParts {
  return {
    calls,
    review: TOOL_REVIEW,
    catalog: () => siblings?.catalog() ?? Promise.resolve(catalogReport(context)),
    faults: () => context.conditions.all,
    processState: () => processState(context, server),
  }
}

/** Count failed attempts and registrations per client address in the kernel of this thread, and log what is refused and who gets tokens. */
export function openAttemptLimits(
  { settings, clock, log }: AppContext,
  kernel: Kernel,
): Pick<GatewayParts, 'attempts' | 'registrations' | 'recordOAuth'> {
  const clientAddress = clientAddresses(settings.sse.trustedProxies)
  const shared = { buckets: kernel, clientAddress, trusted: settings.sse.trustedProxies, nowMs: clock.now }
  const { preAuthRatePerMin, registrationRatePerMin } = settings
  const limited = limitRepeats(log)
  const onRefused = (client: string): void => limited.info({ client }, 'too many attempts')
  return {
    attempts: new AttemptLimit({ ...shared, onRefused, perMinute: preAuthRatePerMin }),
    registrations: new AttemptLimit({
      ...shared,
      onRefused,
      perMinute: registrationRatePerMin,
      range: OF_REGISTRATIONS,
    }),
    recordOAuth({ request, requestId, traceId }, { status, body }) {
      if (status < 400 && Math.random() >= settings.telemetry.accessLogSample) return
      const error = status < 400 ? undefined : parseObject(Buffer.from(body))?.error
      const ids = { request_id: requestId, trace_id: traceId }
      const code = typeof error === 'string' ? error.slice(0, MAX_ERROR_CHARS) : undefined
      const endpoint = request.path
      log.info({ ...ids, endpoint, client: clientAddress(request), status, error: code }, 'oauth')
    },
  }
}

function openMcp(plane: DataPlaneParts, gateway: GatewayParts, cors: Cors): McpEndpoint {
  const { settings, metrics } = plane.context
  const addressOf = clientAddresses(settings.sse.trustedProxies)
  return new McpEndpoint(gateway, cors, {
    keys: plane.sessions.keys,
    watches: openResourceWatches(plane.context),
    limiter: { ...settings.sse, enabled: settings.sse.limiterEnabled },
    ...(plane.places === undefined ? {} : { places: plane.places }),
    streams: { ...settings.sse, heartbeatMs: HEARTBEAT_MS },
    clientAddress: call => addressOf(call.request),
    onStreamRefused: reason => metrics.streamRefused(reason),
    onStreamEnded: why => metrics.streamEnded(why),
  })
}

function openOAuth({ context, gatewayUrl, issuer }: DataPlaneParts): ReturnType<typeof createOAuthFront> {
  const { settings, egress, clock, log } = context
  return createOAuthFront({
    gatewayUrl,
    issuer: settings.auth.provider === 'none' ? undefined : issuer,
    egress,
    admin: providerAdminOf({ ...settings.auth, issuer, egress, nowMs: clock.now }),
    guarded: settings.auth.provider === 'embedded',
    log,
  })
}
