/** Starts the parts of a deployment by its role, reports when it is ready, and stops it. The parts are in `main/`. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { ToolSetCompiler } from '../catalog/sync/compile-job.ts'
import { isStrictParser, listenerSupport } from '../net/server/create.ts'
import type { Pages } from '../net/server/pages.ts'
import { Closers } from '../telemetry/closers.ts'
import { createLogger } from '../telemetry/logger.ts'
import { metricsHandler } from '../telemetry/metrics-endpoint.ts'
import { type AppContext, createContext, localUrl, openListener } from './main/app-context.ts'
import { followInProcess, followOverHttp } from './main/control-link.ts'
import { prepareDataDir } from './main/data-dir.ts'
import type { DataPlane } from './main/data-plane.ts'
import { openGateway } from './main/gateway.ts'
import { openIssuer } from './main/identity.ts'
import { pagesAt } from './main/pages.ts'
import type { Settings } from './settings.ts'

/** The fields of the ready line. Addresses of other processes come from the settings. */
export interface Addresses {
  readonly gateway_url: string
  readonly api_url: string
  readonly auth_url: string
  readonly metrics_url: string
  readonly http_server: 'uws' | 'node'
}

export interface Running {
  readonly addresses: Addresses
  readonly role: Settings['role']
  /** For this process. */
  readonly pages: Pages
  /** The embedded provider and the example shop, where they were started. */
  readonly embedded: { readonly provider: boolean; readonly exampleUrl: string | undefined }
  /** Resolves when no plane in this process waits for a part, so that `/ready` of each responds 200; also when `stop` is called before. */
  readonly ready: Promise<void>
  /**
   * Readiness off; after `SHUTDOWN_DELAY` streams ended and calls in flight completed within `DRAIN_TIMEOUT`, then everything closed.
   * Never rejects.
   */
  stop(): Promise<void>
}

/** Without a snapshot the gateway opens its port after this time, so that `/ready` reports what is missing. */
const LISTEN_AFTER_MS = 2_000
const POLL_MS = 5
const MAX_POLL_MS = 100
/** For closing what a start that failed or was stopped has opened; Node aborts the process when a thread still listens at its end. */
const ABORT_MS = 10_000

interface StartOptions {
  /** Stops the start: the promise rejects. */
  readonly signal?: AbortSignal
  /** Nothing else runs in this process: errors that no code expected are caught. */
  readonly ownsProcess?: boolean
  /** For the source of tools, which closes it; default: one that it creates. */
  readonly compiler?: ToolSetCompiler | undefined
}

/**
 * Resolves when everything is started; what is not ready then responds 503 until it is.
 * @throws Error with the part that could not start and the setting to change; parts already started are closed.
 */
export async function start(
  settings: Settings,
  { signal, ownsProcess = false, compiler }: StartOptions = {},
): Promise<Running> {
  const log = createLogger(settings.logLevel)
  const closers = new Closers(log)
  try {
    prepareDataDir(settings.dataDir, log)
    const context = createContext(settings, log, closers, ownsProcess)
    // first: while the rest waits for a dependency, the metrics say for which
    const metricsUrl = await openMetrics(context)
    const { httpServer, exampleUrl, pagesUrl, planes, ...urls } = await unlessAborted(
      ROLES[settings.role](context, compiler),
      signal,
    )
    reportHttpServer(context, httpServer)
    const closing = new AbortController()
    return {
      addresses: { ...urls, metrics_url: metricsUrl, http_server: httpServer },
      role: settings.role,
      pages: pagesAt(settings.role === 'gateway' ? pagesUrl : urls.api_url, settings),
      embedded: { provider: settings.auth.issuer === undefined, exampleUrl },
      ready: untilReady(planes, closing.signal),
      async stop() {
        closing.abort()
        for (const plane of planes) plane.announceDrain()
        await sleep(settings.shutdownDelayMs)
        const untilMs = Date.now() + settings.drainTimeoutMs
        await Promise.all(planes.map(plane => plane.drain(untilMs)))
        await closers.close()
        log.flush()
      },
    }
  } catch (error) {
    await Promise.race([closers.close(), sleep(ABORT_MS, undefined, { ref: false })])
    throw error
  }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new Error('the process was stopped before startup was complete'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  aborted.catch(() => {})
  return Promise.race([work, aborted])
}

/** What an orchestrator sees of a plane. */
type Plane = Pick<DataPlane, 'waitingFor' | 'announceDrain' | 'drain'>

async function untilReady(planes: readonly Plane[], signal: AbortSignal): Promise<void> {
  // each look asks every thread: a process that waits for an hour must not spend a processor on it
  for (let waitMs = POLL_MS; !signal.aborted; waitMs = Math.min(waitMs * 1.05, MAX_POLL_MS)) {
    const waiting = await Promise.all(planes.map(plane => plane.waitingFor()))
    if (waiting.every(parts => parts.length === 0)) return
    await sleep(waitMs)
  }
}

/** An open port attracts calls, so it is opened once they can be served, and after a while in any case. */
async function listenWhenReady(plane: DataPlane): Promise<void> {
  await untilReady([plane], AbortSignal.timeout(LISTEN_AFTER_MS))
  await plane.listen()
}

interface Started extends Pick<Addresses, 'gateway_url' | 'api_url' | 'auth_url'> {
  readonly httpServer: Addresses['http_server']
  readonly exampleUrl?: string | undefined
  /** Public address of the pages of a gateway; see `pagesUrlOf`. */
  readonly pagesUrl?: string | undefined
  readonly planes: readonly Plane[]
}

const ROLES = { all: startBoth, gateway: startGateway, 'control-plane': startControlPlaneAlone } as const

/** The control plane and its first gateway. The import is dynamic: a gateway alone does not load the control plane. */
async function startBoth(context: AppContext, compiler: ToolSetCompiler | undefined): Promise<Started> {
  const [issuer, { openApi, openDatabase, startControlPlane }] = await Promise.all([
    openIssuer(context),
    import('./main/control-plane.ts'),
  ])
  const api = await openApi(context)
  // the threads of the gateway start on other processors
  const opening = openGateway(context, issuer, api.apiUrl, compiler)
  const database = openDatabase(context, api.readiness)
  const gateway = await opening
  const { gatewayUrl, gatewayAddress, plane, httpServer } = gateway
  const connect = async (): Promise<string | undefined> => {
    const exampleUrl = await gateway.tools
    const parts = { context, ...api, database, gatewayUrl, gatewayAddress, issuer }
    const controlPlane = await startControlPlane(parts)
    await followInProcess(gateway, controlPlane)
    return exampleUrl
  }
  const [exampleUrl] = await Promise.all([connect(), listenWhenReady(plane)])
  return {
    gateway_url: gatewayUrl,
    api_url: api.apiUrl,
    auth_url: issuer,
    httpServer,
    exampleUrl,
    planes: [plane, api.plane],
  }
}

/** A gateway with snapshots from a remote control plane, or from disk while it is unavailable. */
async function startGateway(context: AppContext, compiler: ToolSetCompiler | undefined): Promise<Started> {
  const issuer = await openIssuer(context)
  const controlPlane = context.settings.controlPlane!
  const gateway = await openGateway(context, issuer, controlPlane.url, compiler)
  const { gatewayUrl, pagesUrl, plane, httpServer } = gateway
  const [exampleUrl] = await Promise.all([
    gateway.tools,
    followOverHttp(gateway, controlPlane),
    // the port opens although the source of tools is unavailable: an orchestrator would end a process that does not respond
    listenWhenReady(plane),
  ])
  return {
    gateway_url: gatewayUrl,
    api_url: controlPlane.url,
    auth_url: issuer,
    httpServer,
    exampleUrl,
    pagesUrl,
    planes: [plane],
  }
}

async function startControlPlaneAlone(context: AppContext): Promise<Started> {
  const { openApi, openDatabase, startControlPlane } = await import('./main/control-plane.ts')
  const { gateway } = context.settings
  const issuer = await openIssuer(context)
  const api = await openApi(context)
  const gatewayUrl = gateway.url ?? localUrl(gateway, gateway.port)
  const database = openDatabase(context, api.readiness)
  await startControlPlane({ context, ...api, database, gatewayUrl, issuer })
  return {
    gateway_url: gatewayUrl,
    api_url: api.apiUrl,
    auth_url: issuer,
    httpServer: api.server.listener.kind,
    planes: [api.plane],
  }
}

/** Which HTTP server runs, and why it is not the fast one. */
function reportHttpServer({ settings, log, metrics }: AppContext, server: Addresses['http_server']): void {
  const { uwsBuild, uwsMissing } = listenerSupport()
  const build = server === 'uws' && uwsBuild !== undefined ? uwsBuild : `node ${process.versions.node}`
  metrics.httpServer(server, build)
  const hasTls = (settings.role === 'control-plane' ? settings.api : settings.gateway).tls !== undefined
  if (server === 'node' && settings.httpServer === 'auto' && !hasTls)
    // development needs no fast server
    log[settings.nodeEnv === 'production' ? 'warn' : 'info'](
      { http_server: server, build, reason: uwsMissing },
      'the HTTP server is node:http, because this system cannot load a native build of uWebSockets.js; see docs/decisions/0001-uwebsockets-build.md',
    )
  else if (server === 'uws' && !isStrictParser('uws'))
    log.info(
      { http_server: server, build },
      'the HTTP server is running. The loaded build of uWebSockets.js does not respond to HTTP/1.0 requests. If nginx is in front of this process, set proxy_http_version 1.1 in nginx, or set HTTP_SERVER=node for this process; see docs/edge.md',
    )
  else log.info({ http_server: server, build }, 'the HTTP server is running')
}

/** @returns the base address of the metrics; their Prometheus text is at `/metrics` */
async function openMetrics(context: AppContext): Promise<string> {
  const { settings, metrics, log } = context
  const { host } = settings.role === 'control-plane' ? settings.api : settings.gateway
  const where = { host: settings.metrics.host ?? host, port: settings.metrics.port }
  const server = await openListener(context, where)
  server.handle(metricsHandler(metrics, error => log.error({ err: error }, 'a request to /metrics failed')))
  return `http://localhost:${server.port}`
}
