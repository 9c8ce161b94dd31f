/** Starts the control plane: database, HTTP, compiler of API documents. It starts no gateway. */

import { apiTools } from '../../catalog/api-tools.ts'
import { createCompiler } from '../../catalog/sync/compiler.ts'
import { type ControlPlane, createControlPlane } from '../../control-plane/api/control-plane.ts'
import { type SeededTenant, seedTenants } from '../../control-plane/api/services/seed.ts'
import { openMigratedStore } from '../../control-plane/store/open.ts'
import { mountWeb } from '../../shared/server/web.ts'
import { VERSION } from '../../shared/version.ts'
import { type AppContext, MAX_REQUEST_BODY_BYTES, type OpenListener, openListener } from './app-context.ts'
import { openVerifier } from './identity.ts'
import { receiveEvents } from './metering.ts'
import { openControlPolicy } from './policy.ts'
import { openSealer, sendWebhooks, webhooksHttpsOnly } from './webhooks.ts'

/** The tenant and plans of the embedded provider's clients. */
const DEVELOPMENT_TENANTS: readonly SeededTenant[] = [
  {
    name: 'acme',
    tier: 'enterprise',
    consumers: { 'demo-agent': 'community', 'demo-viewer': 'community', 'demo-admin': 'enterprise' },
  },
]

export interface ControlPlaneParts {
  readonly context: AppContext
  readonly server: OpenListener
  /** Public address of the gateways, without trailing slash. */
  readonly gatewayUrl: string
  readonly apiUrl: string
  readonly issuer: string
}

export async function openApi(context: AppContext): Promise<Pick<ControlPlaneParts, 'server' | 'apiUrl'>> {
  const { api } = context.settings
  const server = await openListener(context, api)
  return { server, apiUrl: api.url ?? `http://localhost:${server.port}` }
}

/** @throws Error naming the setting when the database cannot be opened */
export async function startControlPlane(plane: ControlPlaneParts): Promise<ControlPlane> {
  const { context, server, gatewayUrl, apiUrl, issuer } = plane
  const { settings, log, closers, clock } = context
  const onFault = (message: string, error: unknown): void => log.error({ err: error }, message)
  const tokens = openVerifier(context, issuer, gatewayUrl)
  const policy = await openControlPolicy(context)
  const store = await openMigratedStore({
    url: settings.databaseUrl,
    dataDir: settings.dataDir,
    now: clock.now,
    sealer: openSealer(context),
    onFault,
    onAvailable: available =>
      context.conditions.set('database', available ? undefined : 'the database is unavailable'),
  })
  closers.add('database', () => store.close())
  if (settings.auth.issuer === undefined) await seedTenants(store, DEVELOPMENT_TENANTS)
  await receiveEvents(context, store)
  const webhooks = await sendWebhooks(context, store)
  const advanceClock = (ms: number): void => {
    clock.advance(ms)
    webhooks.nudge()
  }
  const compiler = createCompiler()
  closers.add('compiler of API documents', () => compiler.close())
  const controlPlane = createControlPlane({
    store,
    verifier: tokens,
    policy: policy.current,
    gatewayUrl,
    apiUrl,
    version: VERSION,
    now: clock.now,
    ...(settings.testHooks ? { advanceClock } : {}),
    maxBodyBytes: MAX_REQUEST_BODY_BYTES,
    webhooksHttpsOnly: webhooksHttpsOnly(context),
    cors: settings.cors,
    authConfig: { issuer, audiences: settings.auth.allowedAudiences },
    toolsOf: (api, tenant) => apiTools(api, tenant, compiler),
    onFault,
  })
  closers.add('control plane', () => controlPlane.close())
  server.handle(
    mountWeb(request => controlPlane.fetch(request), {
      maxBodyBytes: MAX_REQUEST_BODY_BYTES,
      scheme: 'http',
      onError: error => onFault('a request to the control plane failed', error),
    }),
  )
  return controlPlane
}
