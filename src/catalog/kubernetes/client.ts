/** Implements `KubernetesApi` with `@kubernetes/client-node`, with timeouts of requests. `watch.ts` reopens the watches. */
import {
  ApiException,
  type ConfigurationOptions,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import type { Log } from '../../telemetry/log.ts'
import type { KubeObject, KubernetesApi, LeaseRecord, Plural, WatchedKind } from './api.ts'
import { type KubernetesWatch, watchObjects } from './watch.ts'

const VERSION = 'v1alpha1'
/** An unresponsive API server must not block a leader, which could lose its lease in the meantime. */
const REQUEST_TIMEOUT_MS = 10_000
const LIST_TIMEOUT_MS = 60_000
const PROBE_TIMEOUT_MS = 1_500
/** For a process that ends: for requests in flight, and for each of those that end the work, such as the release of the Lease. */
const CLOSING_MS = 300

export interface ClientOptions {
  readonly apiGroup: string
  /** Path of a kubeconfig; absent: the service account of the pod. */
  readonly kubeconfig: string | undefined
  /** Called with the reason when the API server cannot be watched, and with undefined when it can again. */
  readonly onFault?: (fault: string | undefined) => void
  readonly log: Log
}

export function connectKubernetes(options: ClientOptions): KubernetesApi {
  const config = new KubeConfig()
  if (options.kubeconfig === undefined) config.loadFromCluster()
  else config.loadFromFile(options.kubeconfig)
  return new Client(config, options)
}

class Client implements KubernetesApi {
  readonly #config: KubeConfig
  readonly #log: Log
  readonly #onFault: (fault: string | undefined) => void
  readonly #group: { readonly group: string; readonly version: string }
  readonly #custom: CustomObjectsApi
  readonly #core: CoreV1Api
  readonly #leases: CoordinationV1Api
  /** Each ends a request, and leaves when the time of the request is over. */
  readonly #running = new Map<AbortController, 'watch' | 'object'>()
  readonly #watches: KubernetesWatch[] = []
  #isEnding = false
  /** Kinds whose watch is broken. */
  readonly #broken = new Set<Plural>()

  constructor(config: KubeConfig, options: ClientOptions) {
    this.#config = config
    this.#log = options.log
    this.#onFault = options.onFault ?? (() => {})
    this.#group = { group: options.apiGroup, version: VERSION }
    this.#custom = config.makeApiClient(CustomObjectsApi)
    this.#core = config.makeApiClient(CoreV1Api)
    this.#leases = config.makeApiClient(CoordinationV1Api)
  }

  watch(plural: Plural, onChange: () => void): WatchedKind {
    const watch = watchObjects({
      config: this.#config,
      path: `/apis/${this.#group.group}/${VERSION}/${plural}`,
      list: async () =>
        (await this.#custom.listClusterCustomObject(
          { ...this.#group, plural },
          this.#within(LIST_TIMEOUT_MS, 'watch'),
        )) as KubernetesListObject<KubernetesObject>,
      probe: () =>
        this.#custom.listClusterCustomObject(
          { ...this.#group, plural, limit: 1 },
          this.#within(PROBE_TIMEOUT_MS, 'watch'),
        ),
      onChange,
      onBroken: error => {
        this.#broken.add(plural)
        this.#endObjectRequests()
        // their connections took the same path, and a silent one reports no end
        for (const each of this.#watches) each.interrupt(error)
        this.#onFault('the gateway cannot watch Kubernetes resources; it serves the tools that it read last')
        this.#log.warn(
          { plural, reason: reasonOf(error) },
          'a watch on the Kubernetes API server ended; the gateway reopens the watch',
        )
      },
      onReopened: () => {
        this.#broken.delete(plural)
        this.#endObjectRequests()
        if (this.#broken.size === 0) this.#onFault(undefined)
      },
    })
    this.#watches.push(watch)
    return watch
  }

  async whyNotServed(plural: Plural): Promise<string | undefined> {
    try {
      await this.#custom.listClusterCustomObject(
        { ...this.#group, plural, limit: 1 },
        this.#within(REQUEST_TIMEOUT_MS, 'object'),
      )
      return undefined
    } catch (error) {
      const code = codeOf(error)
      if (code === 404) return `the cluster has no CustomResourceDefinition ${plural}.${this.#group.group}`
      if (code === 403) return `the service account is not permitted to list ${plural}`
      throw new Error(`${plural} cannot be listed: ${reasonOf(error)}`)
    }
  }

  async readKeys(
    kind: 'ConfigMap' | 'Secret',
    namespace: string,
    name: string,
  ): Promise<{ readonly [key: string]: string }> {
    const object = { name, namespace }
    const options = this.#within(REQUEST_TIMEOUT_MS, 'object')
    try {
      if (kind === 'ConfigMap') return (await this.#core.readNamespacedConfigMap(object, options)).data ?? {}
      const { data = {} } = await this.#core.readNamespacedSecret(object, options)
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')]),
      )
    } catch (error) {
      throw new Error(`${kind} ${namespace}/${name} cannot be read: ${reasonOf(error)}`)
    }
  }

  create(plural: Plural, object: KubeObject): Promise<boolean> {
    const { namespace } = object.metadata
    return unlessConflict(
      this.#custom.createNamespacedCustomObject(
        { ...this.#group, plural, namespace, body: object },
        this.#within(REQUEST_TIMEOUT_MS, 'object'),
      ),
      ON_CREATION,
    )
  }

  replace(plural: Plural, object: KubeObject): Promise<boolean> {
    const { namespace, name } = object.metadata
    return unlessConflict(
      this.#custom.replaceNamespacedCustomObject(
        { ...this.#group, plural, namespace, name, body: object },
        this.#within(REQUEST_TIMEOUT_MS, 'object'),
      ),
    )
  }

  remove(plural: Plural, namespace: string, name: string): Promise<boolean> {
    return unlessConflict(
      this.#custom.deleteNamespacedCustomObject(
        { ...this.#group, plural, namespace, name },
        this.#within(REQUEST_TIMEOUT_MS, 'object'),
      ),
    )
  }

  async writeStatus(plural: Plural, namespace: string, name: string, status: object): Promise<void> {
    const request = { ...this.#group, plural, namespace, name, body: { status } }
    try {
      await this.#custom.patchNamespacedCustomObjectStatus(
        request,
        this.#within(REQUEST_TIMEOUT_MS, 'object', PatchStrategy.MergePatch),
      )
    } catch (error) {
      if (codeOf(error) !== 404)
        throw new Error(`the status of ${plural} ${namespace}/${name} cannot be written: ${reasonOf(error)}`)
    }
  }

  async readLease(namespace: string, name: string): Promise<LeaseRecord> {
    try {
      const { metadata, spec } = await this.#leases.readNamespacedLease(
        { name, namespace },
        this.#within(REQUEST_TIMEOUT_MS, 'object'),
      )
      return {
        holder: spec?.holderIdentity ?? '',
        durationSeconds: spec?.leaseDurationSeconds ?? 0,
        resourceVersion: metadata?.resourceVersion ?? '',
      }
    } catch (error) {
      if (codeOf(error) === 404) return { holder: '', durationSeconds: 0, resourceVersion: '' }
      throw new Error(`the Lease ${namespace}/${name} cannot be read: ${reasonOf(error)}`)
    }
  }

  writeLease(namespace: string, name: string, record: LeaseRecord): Promise<boolean> {
    const { holder, durationSeconds, resourceVersion } = record
    const body = {
      metadata: { name, namespace, ...(resourceVersion === '' ? {} : { resourceVersion }) },
      spec: { holderIdentity: holder, leaseDurationSeconds: durationSeconds },
    }
    const options = this.#within(REQUEST_TIMEOUT_MS, 'object')
    return resourceVersion === ''
      ? unlessConflict(this.#leases.createNamespacedLease({ namespace, body }, options), ON_CREATION)
      : unlessConflict(this.#leases.replaceNamespacedLease({ name, namespace, body }, options))
  }

  endSoon(): void {
    this.#isEnding = true
    const inFlight = [...this.#running.keys()]
    const end = (): void => {
      for (const request of inFlight) request.abort()
    }
    setTimeout(end, CLOSING_MS).unref()
  }

  /**
   * The connection of a request that began before an interruption, or during it, may be half-open: the next round repeats it
   * without waiting for its timeout. Lists and probes stay, because they find out whether the API server responds.
   */
  #endObjectRequests(): void {
    for (const [request, about] of this.#running)
      if (about === 'object')
        request.abort(new Error('the connection to the Kubernetes API server was interrupted'))
  }

  /** Options of a request with a timeout. @param contentType of the body */
  #within(
    timeoutMs: number,
    about: 'watch' | 'object',
    contentType = 'application/json',
  ): ConfigurationOptions {
    const header = setHeaderOptions('Content-Type', contentType).middleware![0]!
    const running = new AbortController()
    const pre: typeof header.pre = request => {
      this.#running.set(running, about)
      const limitMs = this.#isEnding ? CLOSING_MS : timeoutMs
      // not cleared, because the body may hang after the head: the signal of a request that has ended does nothing
      AbortSignal.timeout(limitMs).onabort = () => {
        this.#running.delete(running)
        running.abort(new Error(`no response from the Kubernetes API server within ${limitMs} ms`))
      }
      request.setSignal(running.signal)
      return header.pre(request)
    }
    return { middleware: [{ pre, post: header.post }], middlewareMergeStrategy: 'append' }
  }
}

/** The object has changed or does not exist: the next round reads it again. */
const ON_CHANGE = [404, 409]
/** 404 is then a missing namespace or definition, which no round finds otherwise. */
const ON_CREATION = [409]

/** @returns false for the status of a conflict @throws Error for every other one */
async function unlessConflict(request: Promise<unknown>, conflicts = ON_CHANGE): Promise<boolean> {
  try {
    await request
    return true
  } catch (error) {
    if (conflicts.includes(codeOf(error) ?? 0)) return false
    throw new Error(`the request to the Kubernetes API server failed: ${reasonOf(error)}`)
  }
}

function codeOf(error: unknown): number | undefined {
  return error instanceof ApiException ? error.code : undefined
}

/** Error bodies name fields; headers, which contain the token, are never included. */
function reasonOf(error: unknown): string {
  if (error instanceof ApiException) {
    const body: unknown = error.body
    return `status ${error.code} ${(typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 300)}`
  }
  return error instanceof Error ? error.message.slice(0, 300) : String(error).slice(0, 300)
}
