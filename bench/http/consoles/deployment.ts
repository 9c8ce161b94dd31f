/** The deployment that the consoles are opened on: a control plane with its gateway in one process, or in two, as in production. */
import { join } from 'node:path'
import { startBackend } from '../load/backend.ts'
import { ControlApi, tokenOf } from '../load/control-api.ts'
import { freePort } from '../load/proxy.ts'
import { copyToolSets, gatewayEnv, type Served, serve } from '../load/toolgate.ts'

export interface Deployment {
  /** The process whose processor time counts. */
  readonly gateway: Served
  readonly gatewayUrl: string
  /** API URL of the control plane, which serves the consoles. */
  readonly apiUrl: string
  /** Token of demo-agent, without limits. */
  readonly token: string
  stop(): Promise<void>
}

const CONTROL_ENV = { DATABASE_URL: 'pglite:memory', EXAMPLE: 'false', WORKERS: '1' }

/** One process, which also counts the usage of every call: every request of a console takes time from calls. */
export async function startTogether(dir: string): Promise<Deployment> {
  const gateway = await serve('server', {
    ...CONTROL_ENV,
    DATA_DIR: join(dir, 'data'),
    TOOLSETS: copyToolSets(dir, startBackend()).path,
    // as in production
    DECISION_LOG_PERCENT: '1',
  })
  return { ...(await prepared(gateway, gateway)), stop: () => gateway.stop() }
}

/**
 * The control plane on idle processors: only what consoles ask of the gateway takes time from calls. On the processor of the load it
 * would delay that, and the gateway would idle for want of calls.
 */
export async function startApart(dir: string): Promise<Deployment> {
  // the control plane names the gateway to its consoles
  const port = String(await freePort())
  const control = await serve('spare', {
    ...CONTROL_ENV,
    ROLE: 'control-plane',
    GATEWAY_PORT: port,
    DATA_DIR: join(dir, 'control'),
  })
  const gateway = await serve('server', {
    ...gatewayEnv(control, dir, 'gateway'),
    GATEWAY_PORT: port,
    TOOLSETS: copyToolSets(dir, startBackend()).path,
    WORKERS: '1',
  })
  const stop = async (): Promise<void> => {
    await gateway.stop()
    await control.stop()
  }
  return { ...(await prepared(gateway, control)), stop }
}

async function prepared(gateway: Served, control: Served): Promise<Omit<Deployment, 'stop'>> {
  const token = await tokenOf(control.auth_url, 'demo-agent')
  await new ControlApi(control.api_url, await tokenOf(control.auth_url, 'demo-admin')).limitAgents(0)
  return { gateway, gatewayUrl: gateway.gateway_url, apiUrl: control.api_url, token }
}
