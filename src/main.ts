/** The deployment, top to bottom: the only file that imports adapters. It wires, and holds no logic of its own. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEgress } from './egress/client.ts'
import { startShop } from './example/shop/shop.ts'
import { Admin } from './gateway/admin.ts'
import { clientAddresses } from './gateway/client-address.ts'
import { Cors } from './gateway/cors.ts'
import type { GatewayParts } from './gateway/gateway.ts'
import { kernelRoutes } from './gateway/kernel-routes.ts'
import { listingChanges } from './gateway/listing-changes.ts'
import { McpEndpoint } from './gateway/mcp/endpoint.ts'
import { createOAuthFront } from './gateway/oauth/front.ts'
import { providerAdminOf } from './gateway/oauth/provider-admin.ts'
import { ApiProxy } from './gateway/proxy.ts'
import { RestTools } from './gateway/rest.ts'
import { createRouter } from './gateway/router.ts'
import { createApiKeyVerifier } from './identity/api-keys.ts'
import { startDevProvider } from './identity/dev-provider/dev-provider.ts'
import { fetchJsonOver } from './identity/fetch-json.ts'
import { createTokenVerifier } from './identity/jwks.ts'
import { keyLookup } from './identity/snapshot-keys.ts'
import { createKernel } from './kernel/create.ts'
import { Clock } from './main/clock.ts'
import { embedControlPlane } from './main/embedded-control-plane.ts'
import { compose } from './pipeline/compose.ts'
import { createOpaHttpEngine } from './policy/opa-http/engine.ts'
import { createOpaWasmEngine } from './policy/opa-wasm/engine.ts'
import { openJournalQuota } from './quota/journal/journal-quota.ts'
import { readPlans } from './quota/plans.ts'
import { createListener } from './server/create.ts'
import { DEFAULT_LISTENER_LIMITS, type HttpHandler, type Listener } from './server/listener.ts'
import { openSessions } from './sessions/open.ts'
import type { Settings } from './settings.ts'
import { compile } from './snapshot/compile.ts'
import { EMPTY_CONTENT, type SnapshotContent, seal } from './snapshot/document.ts'
import { SnapshotHolder } from './snapshot/holder.ts'
import { admitWithinBounds } from './stages/admit-within-bounds.ts'
import { UsageCounter } from './stages/count-usage.ts'
import { stages } from './stages/index.ts'
import { listTools } from './stages/list-tools.ts'
import { ResultCache } from './stages/result-cache.ts'
import { Closers } from './telemetry/closers.ts'
import { createLogger } from './telemetry/logger.ts'
import { Metrics } from './telemetry/metrics.ts'
import { metricsHandler } from './telemetry/metrics-endpoint.ts'
import { createDirectorySource } from './toolsets/directory/source.ts'
import { prepareTool } from './toolsets/prepare-tool.ts'
import { VERSION } from './version.ts'

/** What the ready line says (contract §1). */
export interface Addresses {
  readonly gateway_url: string
  readonly api_url: string
  readonly auth_url: string
  readonly metrics_url: string
  readonly http_server: 'uws' | 'node'
}

export interface Running {
  readonly addresses: Addresses
  /** The embedded provider and the example shop, where they were started. */
  readonly embedded: { readonly provider: boolean; readonly exampleUrl: string | undefined }
  /** Readiness off, streams told, calls in flight finished within `DRAIN_TIMEOUT`, then everything closed. Never rejects. */
  stop(): Promise<void>
}

const MAX_BODY_BYTES = 1024 * 1024
const MAX_BACKEND_ANSWER_BYTES = 8 * 1024 * 1024
const HEARTBEAT_MS = 15_000

/** @throws Error that names what could not be started and the setting to change; what had been started is closed again. */
export async function start(settings: Settings): Promise<Running> {
  const log = createLogger(settings.logLevel)
  const closers = new Closers(log)
  try {
    return await wire(settings, log, closers)
  } catch (error) {
    await closers.close()
    throw error
  }
}

async function wire(
  settings: Settings,
  log: ReturnType<typeof createLogger>,
  closers: Closers,
): Promise<Running> {
  mkdirSync(settings.dataDir, { recursive: true })
  const clock = new Clock()
  const now = clock.now
  const metrics = new Metrics(settings.metrics.maxConsumers)
  const egress = createEgress({
    allow: settings.egressAllow,
    allowLoopback: settings.nodeEnv !== 'production',
  })
  closers.add('egress', () => egress.close())

  const open = async (
    where: { readonly host: string; readonly port: number },
    handler: HttpHandler,
  ): Promise<{ listener: Listener; port: number }> => {
    const listener = createListener(settings.httpServer, {
      ...where,
      handler,
      limits: DEFAULT_LISTENER_LIMITS,
      allowChunkedRequests: settings.allowChunkedRequests,
      sharePort: false,
      onRefused: reason => metrics.connectionRefused(reason),
    })
    const { port } = await listener.listen()
    closers.add(`listener on port ${port}`, () => listener.close())
    return { listener, port }
  }

  // ---- who the callers are
  const provider =
    settings.auth.issuer === undefined
      ? await startDevProvider({
          host: settings.gateway.host,
          port: settings.auth.devPort,
          dataDir: join(settings.dataDir, 'dev-provider'),
          log,
        })
      : undefined
  if (provider !== undefined) closers.add('embedded identity provider', () => provider.close())
  const issuer = provider?.issuer ?? settings.auth.issuer!

  // ---- the port comes first: with port 0 only an open listener knows the gateway's own address
  let handler: HttpHandler = (_, response) => response.send(503, ['retry-after', '1'])
  const gatewayListener = await open(settings.gateway, (request, response) => handler(request, response))
  const gatewayUrl = settings.gateway.url ?? `http://localhost:${gatewayListener.port}`
  let apiHandler: HttpHandler = (_, response) => response.send(503, ['retry-after', '1'])
  const api = await open(settings.api, (request, response) => apiHandler(request, response))
  const apiUrl = settings.api.url ?? `http://localhost:${api.port}`
  const tokens = createTokenVerifier({
    issuer,
    audiences: settings.auth.allowedAudiences,
    resourceUris: [gatewayUrl, `${gatewayUrl}/mcp`, `${gatewayUrl}/mcp/sse`],
    fetchJson: fetchJsonOver(egress),
    log,
  })
  tokens.start()
  closers.add('token verifier', () => tokens.close())

  // ---- what they may do, and how much of it
  const { engine, url: policyUrl, bundle: bundleFile } = settings.policy
  const policyEngine =
    engine === 'opa-http'
      ? createOpaHttpEngine({ url: policyUrl!, egress, log })
      : createOpaWasmEngine({ log })
  const bundle = engine === 'opa-http' ? new Uint8Array() : readFileSync(bundleFile)
  const policy = await policyEngine.prepare(bundle)
  closers.add('policy', () => policy.close())
  const quota = openJournalQuota({
    dir: join(settings.dataDir, 'quota'),
    onFault: error =>
      log.error(
        { err: error },
        'quota counters cannot be kept; calls with a daily or monthly limit are refused until they can',
      ),
  })
  closers.add('quota', () => quota.close())
  const { sessions, keys } = await openSessions({
    dataDir: settings.dataDir,
    redisUrl: settings.redisUrl,
    ...settings.sessions,
    log,
  })
  closers.add('sessions', () => sessions.close())

  // ---- configuration flows down
  const apiKeys = createApiKeyVerifier({ lookup: keyLookup(() => holder.current) })
  const holder = new SnapshotHolder(document => compile(document, { policy, prepare: prepareTool }))
  let content: SnapshotContent = { ...EMPTY_CONTENT, ...readPlans(settings.plansFile) }
  /** @returns why the change is not served; it is taken back then */
  const publish = (change: Partial<SnapshotContent>): string | undefined => {
    const wanted = { ...content, ...change }
    const answer = holder.publish(seal(wanted))
    if (answer.kind === 'nack') {
      log.error({ version: answer.version, reason: answer.reason }, 'the new configuration is not served')
      return answer.reason
    }
    content = wanted
    log.info({ version: answer.version, tools: holder.current?.toolCount }, 'serving configuration')
    return undefined
  }

  // ---- requests flow right
  const results = new ResultCache()
  const usage = new UsageCounter()
  const admission = admitWithinBounds(settings.maxInFlight)
  const pipeline = compose(
    stages({
      admission,
      tokens,
      apiKeys,
      quota,
      egress,
      maxResponseBytes: MAX_BACKEND_ANSWER_BYTES,
      results,
      usage: usage.stage,
      metrics,
      accessLog: { write: record => log.info(record, 'call') },
    }),
    (error, stage, exchange) => {
      metrics.bug(stage.id)
      log.error({ stage: stage.id, request_id: exchange.requestId, err: error }, 'a stage threw')
    },
  )
  let draining = false
  const parts: GatewayParts = {
    pipeline,
    snapshot: () => holder.current,
    snapshotFault: () => holder.lastFault,
    keysReady: () => tokens.ready,
    draining: () => draining,
    sessions,
    url: gatewayUrl,
    name: 'toolgate',
    version: VERSION,
    maxBodyBytes: MAX_BODY_BYTES,
    nowMs: now,
  }
  const cors = new Cors({ ...settings.cors, ownOrigin: new URL(gatewayUrl).origin })
  const addressOf = clientAddresses(settings.sse.trustedProxies)
  const mcp = new McpEndpoint(parts, cors, {
    keys,
    limiter: { ...settings.sse, enabled: settings.sse.limiterEnabled },
    streams: { ...settings.sse, heartbeatMs: HEARTBEAT_MS },
    clientAddress: call => addressOf(call.request),
    onStreamRefused: reason => metrics.streamRefused(reason),
    onStreamEnded: why => metrics.streamEnded(why),
  })
  const changed = listingChanges(listTools())
  holder.onSwap((next, previous) => {
    if (previous !== undefined) void mcp.announce(previous, next, changed)
  })
  const caches = {
    api_keys: () => apiKeys.forget(),
    tokens: () => tokens.forget(),
    decisions: () => policy.forget(),
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
    oauth: createOAuthFront({
      gatewayUrl,
      issuer,
      egress,
      admin: providerAdminOf({ ...settings.auth, issuer, egress, nowMs: now }),
      log,
    }),
    proxy: new ApiProxy(parts, egress, rest),
    matcher: kernelRoutes(createKernel().kernel, now),
  })
  handler = router.handler
  holder.onSwap(next => {
    // a key that was revoked, or whose subscription was, must not live on in the memory of keys
    apiKeys.forget()
    router.load(next)
  })
  metrics.gauge(
    'platform_tools',
    'Tools in the snapshot that is served.',
    () => holder.current?.toolCount ?? 0,
  )
  metrics.gauge('platform_streams', 'Event streams that are open.', () => mcp.openStreams)
  metrics.gauge('platform_calls_in_flight', 'Calls in the pipeline.', () => admission.inFlight())

  // ---- the example, and the tools
  const shop = settings.example.enabled
    ? await startShop({ host: settings.gateway.host, port: settings.example.port, log })
    : undefined
  if (shop !== undefined) closers.add('example shop', () => shop.close())
  const source = createDirectorySource({
    directory: settings.toolsets,
    dataDir: settings.dataDir,
    egress,
    apiGroup: settings.apiGroup,
    variables: { GATEWAY_URL: gatewayUrl, ...(shop === undefined ? {} : { EXAMPLE_URL: shop.url }) },
    log,
  })
  closers.add('tool-sets', () => source.close())
  await source.start(tools => void publish({ tools }))
  if (holder.current === undefined) publish({})

  // ---- the control plane of this process, and this gateway as its first instance
  apiHandler = await embedControlPlane({
    settings,
    log,
    closers,
    clock,
    tokens,
    policy: await policyEngine.prepare(bundle),
    gatewayUrl,
    apiUrl,
    issuer,
    maxBodyBytes: MAX_BODY_BYTES,
    control: () => content.control,
    apply: control => publish({ control }),
    status: () => (draining ? 'draining' : holder.lastFault === undefined ? 'online' : 'degraded'),
    usage,
  })
  const metricsPort = await open(
    { host: settings.gateway.host, port: settings.metrics.port },
    metricsHandler(metrics),
  )

  return {
    addresses: {
      gateway_url: gatewayUrl,
      api_url: apiUrl,
      auth_url: issuer,
      metrics_url: `http://localhost:${metricsPort.port}`,
      http_server: gatewayListener.listener.kind,
    },
    embedded: { provider: provider !== undefined, exampleUrl: shop?.url },
    async stop() {
      draining = true
      log.info({ in_flight: admission.inFlight(), streams: mcp.openStreams }, 'draining')
      gatewayListener.listener.stopAccepting()
      mcp.close()
      const untilMs = Date.now() + settings.drainTimeoutMs
      while (admission.inFlight() > 0 && Date.now() < untilMs)
        await new Promise(resolve => setTimeout(resolve, 20))
      await closers.close()
      log.flush()
    },
  }
}
