/** The deployment, top to bottom: the only file that imports adapters. It wires, and holds no logic of its own. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createEgress } from './egress/client.ts'
import type { Egress } from './egress/egress.ts'
import { startShop } from './example/shop/shop.ts'
import { Admin } from './gateway/admin.ts'
import { clientAddresses } from './gateway/client-address.ts'
import { Cors } from './gateway/cors.ts'
import type { GatewayParts } from './gateway/gateway.ts'
import { kernelRoutes } from './gateway/kernel-routes.ts'
import { listingChanges } from './gateway/listing-changes.ts'
import { McpEndpoint } from './gateway/mcp/endpoint.ts'
import { createOAuthFront } from './gateway/oauth/front.ts'
import { adminUrlOf, keycloakAdmin, type ProviderAdmin } from './gateway/oauth/provider-admin.ts'
import { createRouter } from './gateway/router.ts'
import { startDevProvider } from './identity/dev-provider/dev-provider.ts'
import { fetchJsonOver } from './identity/fetch-json.ts'
import { createTokenVerifier } from './identity/jwks.ts'
import { createKernel } from './kernel/create.ts'
import { compose } from './pipeline/compose.ts'
import { createOpaWasmEngine } from './policy/opa-wasm/engine.ts'
import { createMemoryQuota } from './quota/memory/memory-quota.ts'
import { readPlans } from './quota/plans.ts'
import { createListener } from './server/create.ts'
import { DEFAULT_LISTENER_LIMITS, type HttpHandler, type Listener } from './server/listener.ts'
import { openSessions } from './sessions/open.ts'
import type { Settings } from './settings.ts'
import { compile } from './snapshot/compile.ts'
import { EMPTY_CONTENT, type SnapshotContent, seal } from './snapshot/document.ts'
import { SnapshotHolder } from './snapshot/holder.ts'
import { admitWithinBounds } from './stages/admit-within-bounds.ts'
import { stages } from './stages/index.ts'
import { listTools } from './stages/list-tools.ts'
import { ResultCache } from './stages/result-cache.ts'
import { Closers } from './telemetry/closers.ts'
import { createLogger } from './telemetry/logger.ts'
import { Metrics } from './telemetry/metrics.ts'
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
  const policy = await createOpaWasmEngine({ log }).prepare(readFileSync(settings.policy.bundle))
  closers.add('policy', () => policy.close())
  const quota = createMemoryQuota()
  closers.add('quota', () => quota.close())
  const { sessions, keys } = await openSessions({
    dataDir: settings.dataDir,
    redisUrl: settings.redisUrl,
    ...settings.sessions,
    log,
  })
  closers.add('sessions', () => sessions.close())

  // ---- configuration flows down
  const holder = new SnapshotHolder(document => compile(document, { policy, prepare: prepareTool }))
  let content: SnapshotContent = { ...EMPTY_CONTENT, ...readPlans(settings.plansFile) }
  const publish = (change: Partial<SnapshotContent>): void => {
    content = { ...content, ...change }
    const answer = holder.publish(seal(content))
    if (answer.kind === 'nack')
      log.error({ version: answer.version, reason: answer.reason }, 'the new configuration is not served')
    else log.info({ version: answer.version, tools: content.tools.length }, 'serving configuration')
  }

  // ---- requests flow right
  const results = new ResultCache()
  const admission = admitWithinBounds(settings.maxInFlight)
  const pipeline = compose(
    stages({
      admission,
      tokens,
      apiKeys: undefined,
      quota,
      egress,
      maxResponseBytes: MAX_BACKEND_ANSWER_BYTES,
      results,
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
    nowMs: Date.now,
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
    api_keys: () => 0,
    tokens: () => tokens.forget(),
    decisions: () => policy.forget(),
    results: () => results.clear(),
    quota_statistics: () => 0,
  }
  const admin = { quota, caches, statisticsTtlMs: settings.quotaStatsTtlMs }
  handler = createRouter(
    parts,
    cors,
    mcp,
    rest => new Admin(parts, admin, rest),
    createOAuthFront({ gatewayUrl, issuer, egress, admin: providerAdmin(settings, issuer, egress), log }),
    kernelRoutes(createKernel().kernel, Date.now),
  )
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
  await source.start(tools => publish({ tools }))
  if (holder.current === undefined) publish({})

  const api = await open(settings.api, (_, response) =>
    response.send(200, ['content-type', 'application/json'], '{}'),
  )
  const metricsPort = await open(
    { host: settings.gateway.host, port: settings.metrics.port },
    metricsHandler(metrics),
  )

  return {
    addresses: {
      gateway_url: gatewayUrl,
      api_url: settings.api.url ?? `http://localhost:${api.port}`,
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

/** Patches registered clients where the deployment gave an admin client (contract §1, `AUTH_ADMIN_*`). */
function providerAdmin({ auth }: Settings, issuer: string, egress: Egress): ProviderAdmin | undefined {
  const adminUrl = auth.adminUrl ?? adminUrlOf(issuer)
  if (auth.adminClientId === undefined || auth.adminClientSecret === undefined || adminUrl === undefined)
    return undefined
  return keycloakAdmin({
    egress,
    adminUrl,
    tokenEndpoint: `${issuer}/protocol/openid-connect/token`,
    clientId: auth.adminClientId,
    clientSecret: auth.adminClientSecret,
    nowMs: Date.now,
  })
}

function metricsHandler(metrics: Metrics): HttpHandler {
  return (request, response) => {
    if (request.path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD'))
      return response.send(404, [])
    void metrics
      .text()
      .then(text => response.send(200, ['content-type', 'text/plain; version=0.0.4; charset=utf-8'], text))
  }
}
