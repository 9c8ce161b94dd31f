/** Wires the control plane into the process of its first gateway: database, HTTP, snapshots in, usage out. No rule of either plane. */
import { createControlPlane } from '../control/control-plane.ts'
import { type SeededTenant, seedTenants } from '../control/service/seed.ts'
import type { TokenVerifier } from '../identity/verifier.ts'
import type { PreparedPolicy } from '../policy/engine.ts'
import type { HttpHandler } from '../server/listener.ts'
import { mountWeb } from '../server/web.ts'
import type { Settings } from '../settings.ts'
import { applyUpdate, type ControlShare } from '../snapshot/control-share.ts'
import type { UsageCounter, UsageNews } from '../stages/count-usage.ts'
import { openMigratedStore } from '../store/open.ts'
import type { Closers } from '../telemetry/closers.ts'
import type { Log } from '../telemetry/log.ts'
import { apiTools } from '../toolsets/api-tools.ts'
import { createCompiler } from '../toolsets/sync/compiler.ts'
import { VERSION } from '../version.ts'
import type { Clock } from './clock.ts'

/** The tenant and plans of the embedded provider's clients (contract §2). */
const DEVELOPMENT_TENANTS: readonly SeededTenant[] = [
  {
    name: 'acme',
    tier: 'enterprise',
    consumers: { 'demo-agent': 'community', 'demo-viewer': 'community', 'demo-admin': 'enterprise' },
  },
]

export interface EmbeddedControlPlaneParts {
  readonly settings: Settings
  readonly log: Log
  readonly closers: Closers
  readonly clock: Clock
  readonly tokens: TokenVerifier
  /** One of its own: the numbers of its questions are not those of tools. */
  readonly policy: PreparedPolicy
  readonly gatewayUrl: string
  readonly apiUrl: string
  readonly issuer: string
  readonly maxBodyBytes: number
  /** The share that is being served. */
  readonly control: () => ControlShare
  /** Serves a new share. @returns why it could not */
  readonly apply: (control: ControlShare) => string | undefined
  readonly status: () => 'online' | 'degraded' | 'draining'
  readonly usage: UsageCounter
}

/** @throws Error naming the setting when the database cannot be opened */
export async function embedControlPlane(parts: EmbeddedControlPlaneParts): Promise<HttpHandler> {
  const { settings, log, closers, clock } = parts
  const onFault = (message: string, error: unknown): void => log.error({ err: error }, message)
  const store = await openMigratedStore({
    url: settings.databaseUrl,
    dataDir: settings.dataDir,
    now: clock.now,
    onFault,
  })
  closers.add('database', () => store.close())
  if (settings.auth.issuer === undefined) await seedTenants(store, DEVELOPMENT_TENANTS)
  const compiler = createCompiler()
  closers.add('compiler of API documents', () => compiler.close())
  const authConfig = { issuer: parts.issuer, audiences: settings.auth.allowedAudiences }
  const controlPlane = createControlPlane({
    store,
    verifier: parts.tokens,
    policy: () => parts.policy,
    gatewayUrl: parts.gatewayUrl,
    apiUrl: parts.apiUrl,
    version: VERSION,
    now: clock.now,
    ...(settings.testHooks ? { advanceClock: clock.advance } : {}),
    maxBodyBytes: parts.maxBodyBytes,
    cors: settings.cors,
    authConfig,
    toolsOf: (api, tenant) => apiTools(api, tenant, compiler),
    onFault,
  })
  closers.add('control plane', () => controlPlane.close())
  await controlPlane.attach({
    name: settings.gatewayName,
    url: parts.gatewayUrl,
    version: VERSION,
    workers: 1,
    authConfig,
    apply: update => parts.apply(applyUpdate(parts.control(), update)),
    news: () => ({ status: parts.status(), ...reportOf(parts.usage.take(), parts.control()) }),
  })
  return mountWeb(request => controlPlane.fetch(request), {
    maxBodyBytes: parts.maxBodyBytes,
    scheme: 'http',
    onError: error => onFault('the control plane failed', error),
  })
}

/** The gateway counts by tenant name, the control plane by tenant id. */
function reportOf({ usage, keysUsed, consumersSeen }: UsageNews, control: ControlShare) {
  const ids = new Map([...control.tenants.values()].map(tenant => [tenant.name, tenant.id]))
  const seen = consumersSeen.flatMap(({ tenant, subject, at }) => {
    const tenantId = ids.get(tenant)
    return tenantId === undefined ? [] : [{ tenantId, subject, at }]
  })
  return { usage, keysUsed, consumersSeen: seen }
}
