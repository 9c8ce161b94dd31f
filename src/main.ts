/** The deployment, top to bottom: what each role starts, and how it stops. It wires, and holds no logic of its own. */
import { mkdirSync } from 'node:fs'
import { Configuration } from './main/configuration.ts'
import { attachGateway } from './main/control-link.ts'
import { startControlPlane } from './main/control-plane.ts'
import { startDataPlane } from './main/data-plane.ts'
import { type Ground, layGround, openListener } from './main/ground.ts'
import { openIssuer } from './main/identity.ts'
import { openQuota } from './main/open-quota.ts'
import { startTools } from './main/tools.ts'
import { readPlans } from './quota/plans.ts'
import type { Settings } from './settings.ts'
import { EMPTY_CONTENT } from './snapshot/document.ts'
import { Closers } from './telemetry/closers.ts'
import { createLogger } from './telemetry/logger.ts'
import { metricsHandler } from './telemetry/metrics-endpoint.ts'

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

/** @throws Error that names what could not be started and the setting to change; what had been started is closed again. */
export async function start(settings: Settings): Promise<Running> {
  const log = createLogger(settings.logLevel)
  const closers = new Closers(log)
  try {
    mkdirSync(settings.dataDir, { recursive: true })
    const ground = layGround(settings, log, closers)
    const { drain, ...running } = await startAll(ground)
    return {
      ...running,
      async stop() {
        await drain(Date.now() + settings.drainTimeoutMs)
        await closers.close()
        log.flush()
      },
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

interface Started extends Omit<Running, 'stop'> {
  drain(untilMs: number): Promise<void>
}

async function startAll(ground: Ground): Promise<Started> {
  const { settings } = ground
  const issuer = await openIssuer(ground)
  const gatewayDoor = await openListener(ground, settings.gateway)
  const gatewayUrl = settings.gateway.url ?? `http://localhost:${gatewayDoor.port}`
  const apiDoor = await openListener(ground, settings.api)
  const apiUrl = settings.api.url ?? `http://localhost:${apiDoor.port}`

  // requests flow right
  const quota = openQuota(ground)
  const plane = await startDataPlane({ ground, door: gatewayDoor, gatewayUrl, issuer, quota })

  // configuration flows down: the tools, and the control plane with this gateway as its first instance
  const configuration = new Configuration({
    content: { ...EMPTY_CONTENT, ...readPlans(settings.plansFile) },
    awaited: ['tools', 'control'],
    deliver: change => plane.apply(change),
    log: ground.log,
  })
  const exampleUrl = await startTools(ground, gatewayUrl, tools => void configuration.change({ tools }))
  const controlPlane = await startControlPlane({ ground, door: apiDoor, gatewayUrl, apiUrl, issuer })
  await attachGateway(controlPlane, { ground, plane, configuration, gatewayUrl, issuer })

  const metricsDoor = await openListener(ground, {
    host: settings.gateway.host,
    port: settings.metrics.port,
  })
  metricsDoor.handle(metricsHandler(ground.metrics))
  return {
    addresses: {
      gateway_url: gatewayUrl,
      api_url: apiUrl,
      auth_url: issuer,
      metrics_url: `http://localhost:${metricsDoor.port}`,
      http_server: gatewayDoor.listener.kind,
    },
    embedded: { provider: settings.auth.issuer === undefined, exampleUrl },
    drain: untilMs => plane.drain(untilMs),
  }
}
