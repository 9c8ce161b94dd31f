/** `toolgate config follow`: connects the Kubernetes objects of gateways with a control plane. `catalog/kubernetes/gateways` reconciles them. */

import { isObject } from '../../../base/json/is-object.ts'
import type { ControlPlaneAccess } from '../../../catalog/kubernetes/gateways/objects.ts'
import type { ShownDeployment, ShownGateway } from '../../../catalog/kubernetes/gateways/status.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { Reader } from '../../settings/reader.ts'
import { readClusterSettings } from '../../settings/tool-sets.ts'
import { SettingsError } from '../../settings.ts'
import { type CommandContext, CommandFailure, EXIT, print } from '../command.ts'
import { onStopSignal } from '../signals.ts'
import { type ConfigClient, type ConfigRequest, connect } from './client.ts'
import type { ConfigOptions } from './options.ts'

/** Shorter than tokens live. */
const TOKEN_MS = 60_000
/** The objects show what these requests return: a control plane that accepts connections and is silent must be noticed soon. */
const TIMEOUTS = {
  readMs: 10_000,
  /** For the one API of a binding. */
  applyMs: 30_000,
}
/** Once the process has to stop: for requests in flight. With one request to Kubernetes and the release of the Lease, it ends within a second. */
const CLOSING_MS = 300
const PAGE = 100
/** For a longer list of gateways or APIs, only the first pages are read. */
const MAX_PAGES = 10

export async function followCluster(options: ConfigOptions, env: CommandContext['env']): Promise<number> {
  const read = new Reader(env)
  const cluster = readClusterSettings(read)
  const apiGroup = read.text('API_GROUP', 'toolgate.dev')
  const log = createLogger(read.text('LOG_LEVEL', 'info'))
  if (read.faults.length > 0) throw new SettingsError(read.faults)
  // a wrong token is found before the cluster is watched
  const call = renewTokens(await connect(options, env), () => connect(options, env))
  const { connectKubernetes } = await import('../../../catalog/kubernetes/client.ts')
  const { GatewayObjects } = await import('../../../catalog/kubernetes/gateways/objects.ts')
  const api = clusterOf(() => connectKubernetes({ apiGroup, kubeconfig: cluster.kubeconfig, log }))
  for (const plural of ['gatewayinstances', 'gatewaybindings'] as const) {
    const reason = await api.whyNotServed(plural).catch((error: Error) => {
      throw new CommandFailure(
        `${error.message}. Check KUBECONFIG, and check that the Kubernetes API server is reachable.`,
      )
    })
    if (reason !== undefined)
      throw new CommandFailure(
        `${reason}. Apply the CustomResourceDefinitions (deploy/helm/toolgate/crds) and the RBAC rules for this version of Toolgate.`,
      )
  }
  const { namespace: leaseNamespace, identity } = cluster
  // before, a signal ends the process at once: the Lease has not been taken
  const stopped = new Promise<void>(resolve => onStopSignal(resolve))
  const access = accessOf(endWithProcess(call, stopped))
  const objects = new GatewayObjects({ api, apiGroup, access, log, leaseNamespace, identity })
  await Promise.race([objects.start(), stopped])
  print('{"ready":true}\n')
  await stopped
  await objects.close()
  return process.exit(EXIT.ok)
}

/** @throws CommandFailure when the kubeconfig or the service account cannot be used */
function clusterOf<T>(connectCluster: () => T): T {
  try {
    return connectCluster()
  } catch (error) {
    throw new CommandFailure(
      `The file that KUBECONFIG names, or the service account of the pod, cannot be used: ${(error as Error).message}`,
    )
  }
}

/** A client whose token is fetched again. */
function renewTokens(first: ConfigClient, connectAgain: () => Promise<ConfigClient>): ConfigClient {
  let current = { call: first, untilMs: performance.now() + TOKEN_MS }
  return async request => {
    if (performance.now() > current.untilMs)
      current = { call: await connectAgain(), untilMs: performance.now() + TOKEN_MS }
    return current.call(request)
  }
}

/**
 * After the stop, no request begins, and each one in flight, the fetch of its token included, ends after `CLOSING_MS`. The control plane
 * completes or rolls back an apply that was sent; the instance that leads next repeats it.
 */
function endWithProcess(call: ConfigClient, stopped: Promise<void>): ConfigClient {
  const running = new Set<(reason: Error) => void>()
  const stopping = new CommandFailure('The request was not completed, because this process is stopping.')
  let hasStopped = false
  const endSoon = (): void => {
    hasStopped = true
    setTimeout(() => {
      for (const reject of running) reject(stopping)
    }, CLOSING_MS)
  }
  void stopped.then(endSoon)
  return async request => {
    if (hasStopped) throw stopping
    return new Promise((resolve, reject) => {
      running.add(reject)
      void call(request)
        .then(resolve, reject)
        .finally(() => running.delete(reject))
    })
  }
}

/** @throws CommandFailure from each method, when the control plane refuses, fails or is silent */
export function accessOf(call: ConfigClient, { readMs, applyMs } = TIMEOUTS): ControlPlaneAccess {
  const list = async (path: string, query: ConfigRequest['query']): Promise<readonly object[]> => {
    const request = { path, query: { limit: String(PAGE), ...query }, timeoutMs: readMs }
    const { body } = await call({ method: 'GET', ...request })
    if (!isObject(body) || !Array.isArray(body.items))
      throw new Error(`The response from the control plane to GET /v1/${path} has no list "items".`)
    return body.items as readonly object[]
  }
  const listAll = async (path: string, query: ConfigRequest['query']): Promise<readonly object[]> => {
    const all: object[] = []
    for (let page = 1; page <= MAX_PAGES; page++) {
      const items = await list(path, { ...query, page: String(page) })
      all.push(...items)
      if (items.length < PAGE) break
    }
    return all
  }
  return {
    async apply(tree, { overwriteDrift }) {
      const query = { prune: 'true', overwrite_drift: overwriteDrift ? 'true' : undefined }
      await call({ method: 'POST', query, body: tree, timeoutMs: applyMs })
    },
    gateways: async () => (await listAll('gateways', {})) as readonly ShownGateway[],
    async apiId(tenant, key) {
      const [path, version] = key.split('@')
      const apis = (await listAll(`tenants/${encodeURIComponent(tenant)}/apis`, { q: path })) as readonly {
        readonly id: string
        readonly path: string
        readonly version: string
      }[]
      return apis.find(api => api.path === path && (version === undefined || api.version === version))?.id
    },
    async deployment(apiId, gatewayId) {
      const [found] = await list('deployments', { api_id: apiId, gateway_id: gatewayId })
      return found as ShownDeployment | undefined
    },
  }
}
