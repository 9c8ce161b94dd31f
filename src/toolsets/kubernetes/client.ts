/** The KubernetesApi over `@kubernetes/client-node`. It decides nothing; every call is one request or one watch. */
import {
  ApiException,
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import type { Log } from '../../telemetry/log.ts'
import type { KubeObject, KubernetesApi, LeaseRecord, ObjectCache, Plural } from './api.ts'

const VERSION = 'v1alpha1'
const REOPEN_MS = 2_000

export interface ClientOptions {
  readonly apiGroup: string
  /** Path of a kubeconfig; without it the service account of the pod is used. */
  readonly kubeconfig: string | undefined
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
  readonly #group: { readonly group: string; readonly version: string }
  readonly #custom: CustomObjectsApi
  readonly #core: CoreV1Api
  readonly #leases: CoordinationV1Api

  constructor(config: KubeConfig, options: ClientOptions) {
    this.#config = config
    this.#log = options.log
    this.#group = { group: options.apiGroup, version: VERSION }
    this.#custom = config.makeApiClient(CustomObjectsApi)
    this.#core = config.makeApiClient(CoreV1Api)
    this.#leases = config.makeApiClient(CoordinationV1Api)
  }

  async watch(plural: Plural, onChange: () => void): Promise<ObjectCache> {
    const list = async () =>
      (await this.#custom.listClusterCustomObject({
        ...this.#group,
        plural,
      })) as KubernetesListObject<KubernetesObject>
    const path = `/apis/${this.#group.group}/${VERSION}/${plural}`
    const informer = makeInformer(this.#config, path, list)
    let closed = false
    let reopen: NodeJS.Timeout | undefined
    for (const event of ['add', 'update', 'delete'] as const) informer.on(event, onChange)
    informer.on('error', error => {
      if (closed) return
      this.#log.warn(
        { plural, reason: reasonOf(error) },
        'a watch of the API server ended; it is opened again',
      )
      clearTimeout(reopen)
      reopen = setTimeout(() => void informer.start().catch(() => {}), REOPEN_MS)
    })
    await informer.start()
    return {
      list: () => informer.list() as unknown as readonly KubeObject[],
      async close() {
        closed = true
        clearTimeout(reopen)
        await informer.stop()
      },
    }
  }

  async readKey(kind: 'ConfigMap' | 'Secret', namespace: string, name: string, key: string): Promise<string> {
    const shown = `${kind} ${namespace}/${name}`
    try {
      if (kind === 'ConfigMap') {
        const { data } = await this.#core.readNamespacedConfigMap({ name, namespace })
        if (data?.[key] !== undefined) return data[key]
      } else {
        const { data } = await this.#core.readNamespacedSecret({ name, namespace })
        if (data?.[key] !== undefined) return Buffer.from(data[key], 'base64').toString('utf8')
      }
    } catch (error) {
      throw new Error(`${shown} cannot be read: ${reasonOf(error)}`)
    }
    throw new Error(`${shown} has no key ${key}`)
  }

  create(plural: Plural, object: KubeObject): Promise<boolean> {
    const { namespace } = object.metadata
    return unlessConflict(
      this.#custom.createNamespacedCustomObject({ ...this.#group, plural, namespace, body: object }),
    )
  }

  replace(plural: Plural, object: KubeObject): Promise<boolean> {
    const { namespace, name } = object.metadata
    return unlessConflict(
      this.#custom.replaceNamespacedCustomObject({ ...this.#group, plural, namespace, name, body: object }),
    )
  }

  remove(plural: Plural, namespace: string, name: string): Promise<boolean> {
    return unlessConflict(
      this.#custom.deleteNamespacedCustomObject({ ...this.#group, plural, namespace, name }),
    )
  }

  async writeStatus(plural: Plural, namespace: string, name: string, status: object): Promise<void> {
    const request = { ...this.#group, plural, namespace, name, body: { status } }
    try {
      await this.#custom.patchNamespacedCustomObjectStatus(
        request,
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
      )
    } catch (error) {
      if (codeOf(error) !== 404) throw new Error(`the status cannot be written: ${reasonOf(error)}`)
    }
  }

  async readLease(namespace: string, name: string): Promise<LeaseRecord> {
    try {
      const { metadata, spec } = await this.#leases.readNamespacedLease({ name, namespace })
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
    return unlessConflict(
      resourceVersion === ''
        ? this.#leases.createNamespacedLease({ namespace, body })
        : this.#leases.replaceNamespacedLease({ name, namespace, body }),
    )
  }
}

/** false for 404 and 409: the world changed, and the next round sees it. */
async function unlessConflict(request: Promise<unknown>): Promise<boolean> {
  try {
    await request
    return true
  } catch (error) {
    const code = codeOf(error)
    if (code === 404 || code === 409) return false
    throw new Error(`the API server refused: ${reasonOf(error)}`)
  }
}

function codeOf(error: unknown): number | undefined {
  return error instanceof ApiException ? error.code : undefined
}

/** Bodies of refusals name fields; headers, which hold the token, are never shown. */
function reasonOf(error: unknown): string {
  if (error instanceof ApiException) {
    const body: unknown = error.body
    return `status ${error.code} ${(typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 300)}`
  }
  return error instanceof Error ? error.message.slice(0, 300) : String(error).slice(0, 300)
}
