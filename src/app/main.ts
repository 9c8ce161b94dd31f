/** The deployment: what each role starts, in which order, and how it stops. It connects parts and implements none. */

import { listenerSupport } from '../shared/server/create.ts'
import { Closers } from '../shared/telemetry/closers.ts'
import { createLogger } from '../shared/telemetry/logger.ts'
import { metricsHandler } from '../shared/telemetry/metrics-endpoint.ts'
import { type AppContext, createContext, openListener } from './main/app-context.ts'
import { followInProcess, followOverHttp } from './main/control-link.ts'
import { prepareDataDir } from './main/data-dir.ts'
import { openGateway } from './main/gateway.ts'
import { openIssuer } from './main/identity.ts'
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
  /** The embedded provider and the example shop, where they were started. */
  readonly embedded: { readonly provider: boolean; readonly exampleUrl: string | undefined }
  /** Readiness off, streams ended, calls in flight completed within `DRAIN_TIMEOUT`, then everything closed. Never rejects. */
  stop(): Promise<void>
}

/** @throws Error with the part that could not start and the setting to change; parts already started are closed. */
export async function start(settings: Settings): Promise<Running> {
  const log = createLogger(settings.logLevel)
  const closers = new Closers(log)
  try {
    prepareDataDir(settings.dataDir, log)
    const context = createContext(settings, log, closers)
    const { httpServer, exampleUrl, drain, ...urls } = await ROLES[settings.role](context)
    reportHttpServer(context, httpServer)
    return {
      addresses: {
        ...urls,
        metrics_url: await openMetrics(context),
        http_server: httpServer,
      },
      role: settings.role,
      embedded: { provider: settings.auth.issuer === undefined, exampleUrl },
      async stop() {
        await drain?.(Date.now() + settings.drainTimeoutMs)
        await closers.close()
        log.flush()
      },
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

interface Started extends Pick<Addresses, 'gateway_url' | 'api_url' | 'auth_url'> {
  readonly httpServer: Addresses['http_server']
  readonly exampleUrl?: string | undefined
  drain?(untilMs: number): Promise<void>
}

const ROLES = { all: startBoth, gateway: startGateway, 'control-plane': startControlPlaneAlone } as const

/** The control plane and its first gateway. The import is dynamic: a gateway alone does not load the control plane. */
async function startBoth(context: AppContext): Promise<Started> {
  const { openApi, startControlPlane } = await import('./main/control-plane.ts')
  const issuer = await openIssuer(context)
  const gateway = await openGateway(context, issuer)
  const { gatewayUrl, plane, httpServer } = gateway
  const api = await openApi(context)
  const exampleUrl = await gateway.startTools()
  const controlPlane = await startControlPlane({ context, ...api, gatewayUrl, issuer })
  await followInProcess(gateway, controlPlane)
  return {
    gateway_url: gatewayUrl,
    api_url: api.apiUrl,
    auth_url: issuer,
    httpServer,
    exampleUrl,
    drain: untilMs => plane.drain(untilMs),
  }
}

/** A gateway with snapshots from a remote control plane, or from disk while it is unavailable. */
async function startGateway(context: AppContext): Promise<Started> {
  const issuer = await openIssuer(context)
  const gateway = await openGateway(context, issuer)
  const { gatewayUrl, plane, httpServer } = gateway
  const exampleUrl = await gateway.startTools()
  const controlPlane = context.settings.controlPlane!
  await followOverHttp(gateway, controlPlane)
  return {
    gateway_url: gatewayUrl,
    api_url: controlPlane.url,
    auth_url: issuer,
    httpServer,
    exampleUrl,
    drain: untilMs => plane.drain(untilMs),
  }
}

async function startControlPlaneAlone(context: AppContext): Promise<Started> {
  const { openApi, startControlPlane } = await import('./main/control-plane.ts')
  const { gateway } = context.settings
  const issuer = await openIssuer(context)
  const api = await openApi(context)
  const gatewayUrl = gateway.url ?? `http://localhost:${gateway.port}`
  await startControlPlane({ context, ...api, gatewayUrl, issuer })
  return {
    gateway_url: gatewayUrl,
    api_url: api.apiUrl,
    auth_url: issuer,
    httpServer: api.server.listener.kind,
  }
}

/** Which HTTP server runs, and why it is not the fast one. */
function reportHttpServer({ settings, log, metrics }: AppContext, server: Addresses['http_server']): void {
  const { uwsBuild, uwsMissing } = listenerSupport()
  const build = server === 'uws' && uwsBuild !== undefined ? uwsBuild : `node ${process.versions.node}`
  metrics.httpServer(server, build)
  if (server === 'node' && settings.httpServer === 'auto')
    log.warn(
      { http_server: server, build, reason: uwsMissing },
      'node:http serves because no native build of uWebSockets.js loads here; see docs/decisions/0001-uwebsockets-build.md',
    )
  else log.info({ http_server: server, build }, 'HTTP server')
}

/** @returns the address of Prometheus text */
async function openMetrics(context: AppContext): Promise<string> {
  const { settings, metrics } = context
  const { host } = settings.role === 'control-plane' ? settings.api : settings.gateway
  const where = { host: settings.metrics.host ?? host, port: settings.metrics.port }
  const server = await openListener(context, where)
  server.handle(metricsHandler(metrics))
  return `http://localhost:${server.port}`
}
