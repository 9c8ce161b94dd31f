/** Starts the control plane: its listener, its database and the services that use it. */

import { Backoff } from '../../base/async/backoff.ts'
import { VERSION } from '../../base/version.ts'
import { apiTools, specFault } from '../../catalog/api-tools.ts'
import { tenantSecretHosts } from '../../catalog/resource/references.ts'
import { createCompiler } from '../../catalog/sync/compiler.ts'
import { type ControlPlane, createControlPlane } from '../../control-plane/api/control-plane.ts'
import { Readiness, startingApp } from '../../control-plane/api/readiness.ts'
import { type SeededTenant, seedTenants } from '../../control-plane/api/services/seed.ts'
import { openMigratedStore } from '../../control-plane/store/open-store.ts'
import { EVERY_TENANT, type Store, StoreUnavailable } from '../../control-plane/store/store.ts'
import { exchangeEndpoints } from '../../net/egress/oauth/exchange-endpoints.ts'
import { clientAddresses } from '../../net/server/client-address.ts'
import { mountWeb, type WebHandler } from '../../net/server/web.ts'
import {
  type AppContext,
  localUrl,
  MAX_CONFIGURATION_BYTES,
  MAX_REQUEST_BODY_BYTES,
  type OpenListener,
  openListener,
} from './app-context.ts'
import { partAt, withPages } from './console.ts'
import { untilIdle } from './data-plane/drain.ts'
import type { DataPlane } from './data-plane.ts'
import { openVerifier } from './identity.ts'
import { mailOptions, sendMails } from './mails.ts'
import { receiveEvents } from './metering.ts'
import { pagesAt } from './pages.ts'
import { openControlPolicy } from './policy.ts'
import { openSealer, sendWebhooks, webhookFaults } from './start-webhooks.ts'
import { watchClock } from './watch-clock.ts'

const DATABASE_RETRY = { firstMs: 100, maxMs: 1_000 }

/** The tenant and plans of the embedded provider's clients. */
const DEVELOPMENT_TENANTS: readonly SeededTenant[] = [
  {
    name: 'acme',
    tier: 'enterprise',
    consumers: { 'demo-agent': 'community', 'demo-viewer': 'community', 'demo-admin': 'enterprise' },
  },
]

export interface OpenApi {
  readonly server: OpenListener
  readonly apiUrl: string
  readonly readiness: Readiness
  readonly plane: Pick<DataPlane, 'waitingFor' | 'announceDrain' | 'drain'>
  /** Replaces the handler of requests. */
  serve(handler: WebHandler): void
}

export interface ControlPlaneParts extends Pick<OpenApi, 'serve' | 'readiness' | 'apiUrl'> {
  readonly context: AppContext
  /** From `openDatabase`. */
  readonly database: Promise<Store>
  /** Public address of the gateways, without trailing slash. */
  readonly gatewayUrl: string
  /** The gateway of this process, as this process reaches it. */
  readonly gatewayAddress?: string
  readonly issuer: string
}

/** Opens the port at once: health and readiness respond while the database is opened. */
export async function openApi(context: AppContext): Promise<OpenApi> {
  const { api, cors } = context.settings
  const server = await openListener(context, api)
  const readiness = new Readiness()
  let inFlight = 0
  const serve = (handler: WebHandler): void =>
    server.handle(
      mountWeb(
        async (request, peer) => {
          inFlight++
          try {
            return await handler(request, peer)
          } finally {
            inFlight--
          }
        },
        {
          // each endpoint has its own limit below this one
          maxBodyBytes: MAX_CONFIGURATION_BYTES,
          scheme: api.tls === undefined ? 'http' : 'https',
          onError: (error, path) =>
            context.log.error({ err: error }, `a request to the ${partAt(path)} failed`),
        },
      ),
    )
  serve(startingApp(readiness, cors))
  return {
    server,
    serve,
    readiness,
    apiUrl: api.url ?? localUrl(api, server.port),
    plane: {
      waitingFor: () => readiness.waitingFor(),
      announceDrain() {
        readiness.drain()
        server.listener.closeAfterResponses()
      },
      async drain(untilMs) {
        server.listener.stopAccepting()
        await untilIdle(() => inFlight, untilMs)
      },
    },
  }
}

/**
 * Resolves when the database is available and has the tables of this version. The caller may await the promise later than it rejects.
 * @throws Error naming the setting when it cannot be opened
 */
export function openDatabase(context: AppContext, readiness: Readiness): Promise<Store> {
  const opening = openWhenAvailable(context, readiness)
  opening.catch(() => {})
  return opening
}

async function openWhenAvailable(context: AppContext, readiness: Readiness): Promise<Store> {
  const { settings, log, closers, clock } = context
  const sealer = openSealer(context)
  const mail = mailOptions(context)
  const onClock = watchClock(context, 'database', fault => readiness.handleClock(fault))
  const store = await whenAvailable(context, readiness, () =>
    openMigratedStore({
      url: settings.databaseUrl,
      directUrl: settings.databaseDirectUrl,
      dataDir: settings.dataDir,
      now: clock.now,
      onClock,
      sealer,
      mail,
      onFault: (message, error) => log.error({ err: error }, message),
      onAvailable: available =>
        context.conditions.set('database', available ? undefined : 'the database is unavailable'),
    }),
  )
  // an attempt that failed has set it, and a store reports changes only
  context.conditions.set('database', undefined)
  closers.add('database', () => store.close())
  return store
}

/** Resolves when the database is available. @throws Error naming the setting when it cannot be opened */
export async function startControlPlane(plane: ControlPlaneParts): Promise<ControlPlane> {
  const { context, readiness, gatewayUrl, apiUrl, issuer } = plane
  const { settings, log, closers, clock } = context
  const onFault = (message: string, error: unknown): void => log.error({ err: error }, message)
  const tokens = openVerifier(context, issuer, gatewayUrl)
  const policy = await openControlPolicy(context)
  const store = await plane.database
  if (settings.auth.issuer === undefined)
    await whenAvailable(context, readiness, () => seedTenants(store, DEVELOPMENT_TENANTS))
  await receiveEvents(context, store)
  const webhooks = await sendWebhooks(context, store, work => whenAvailable(context, readiness, work))
  const mails = await sendMails(context, store)
  const advanceClock = (ms: number): void => {
    clock.advance(ms)
    webhooks.nudge()
    mails?.nudge()
  }
  const addressOf = clientAddresses(settings.sse.trustedProxies)
  const compiler = createCompiler()
  closers.add('compiler of OpenAPI documents', () => compiler.close())
  const controlPlane = createControlPlane(
    {
      store,
      verifier: tokens,
      policy: policy.current,
      unrecordedPolicy: policy.unrecorded,
      workshop: policy.workshop,
      gatewayUrl,
      apiUrl,
      pages: pagesAt('.', settings),
      version: VERSION,
      now: clock.now,
      ...(settings.testHooks ? { advanceClock } : {}),
      maxBodyBytes: MAX_REQUEST_BODY_BYTES,
      maxBulkBodyBytes: MAX_CONFIGURATION_BYTES,
      webhookFault: webhookFaults(context),
      verifiesGateways: settings.api.tls?.clientCa !== undefined,
      requestLog: log.isLevelEnabled('info')
        ? {
            sampled: settings.telemetry.accessLogSample,
            addressOf,
            write: record => log.info(record, 'request'),
          }
        : undefined,
      auditRetentionMs: settings.auditRetentionMs,
      cors: settings.cors,
      visitors: settings.portal.enabled
        ? {
            perMinute: settings.portal.visitorRatePerMin,
            addressOf,
          }
        : undefined,
      authConfig: { issuer, audiences: settings.auth.allowedAudiences },
      mayExchangeAt: exchangeEndpoints(settings.auth.tokenExchangeUrls, tokens),
      ...(settings.toolSets.source === 'directory' && {
        hostsOfSecret: tenantSecretHosts(settings.toolSets.directory),
      }),
      specFault,
      toolsOf: (api, tenant) => apiTools(api, tenant, compiler),
      onChange: (action, actor) => context.metrics.countChange(action, actor),
      onFault,
    },
    readiness,
  )
  closers.add('control plane', () => controlPlane.close())
  const consoleParts = {
    verifier: tokens,
    marks: {
      put: (mark: string, untilMs: number) =>
        store.write(EVERY_TENANT, tx => tx.sessionMarks.put(mark, new Date(untilMs))),
      has: (mark: string) => store.read(EVERY_TENANT, tx => tx.sessionMarks.has(mark)),
    },
    gatewayUrl,
    gatewayAddress: plane.gatewayAddress,
    publicUrl: settings.api.url,
    controlPlane: {
      fetch: (request: Request) => controlPlane.fetchForUser(request),
      permissions: (request: Request) => controlPlane.permissions(request),
    },
  }
  plane.serve(withPages(context, consoleParts, (request, peer) => controlPlane.fetch(request, peer)))
  return controlPlane
}

/** Repeats the work while the database is unavailable: it may start after its control plane. @throws every other error; any, once the process closes */
async function whenAvailable<T>(
  { log, closers }: AppContext,
  readiness: Readiness,
  work: () => Promise<T>,
): Promise<T> {
  const closing = new AbortController()
  closers.add('retry of the database connection', () => closing.abort())
  const backoff = new Backoff(DATABASE_RETRY)
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || closing.signal.aborted) throw error
      readiness.handleFailure(error)
      if (backoff.retries === 0)
        log.warn(
          { reason: error.message },
          'the control plane cannot reach its database and retries until the database is available. Check DATABASE_URL',
        )
      await backoff.wait(closing.signal)
    }
  }
}
