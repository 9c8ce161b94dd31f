/**
 * Applies GatewayBinding objects to the control plane as the leader, and writes the status of GatewayBinding and GatewayInstance objects.
 * It builds no status: `status.ts` does.
 */
import { SerialQueue } from '../../../base/async/serial-queue.ts'
import type { Log } from '../../../telemetry/log.ts'
import { type KubeObject, type KubernetesApi, readKey, type WatchedKind } from '../api.ts'
import { Leader } from '../leader.ts'
import { type Binding, emptyTreeOf, type ReadConfigMap, readBinding, treeOf } from './binding.ts'
import {
  type BindingState,
  gatewayNameOf,
  isWritten,
  PLATFORM,
  type ShownDeployment,
  type ShownGateway,
  type Status,
  statusOfBinding,
  statusOfInstance,
} from './status.ts'

/** The control plane as this process may use it. Every method rejects with the reason that the control plane gives. */
export interface ControlPlaneAccess {
  /** Applies the tree of an owner and deletes what the owner has no more, in one transaction. */
  apply(tree: object, options: { readonly overwriteDrift: boolean }): Promise<void>
  gateways(): Promise<readonly ShownGateway[]>
  /** Id of the API with this key of a configuration tree. */
  apiId(tenant: string, key: string): Promise<string | undefined>
  deployment(apiId: string, gatewayId: string): Promise<ShownDeployment | undefined>
}

interface GatewayObjectsOptions {
  readonly api: KubernetesApi
  readonly apiGroup: string
  readonly access: ControlPlaneAccess
  readonly log: Log
  readonly leaseNamespace: string
  /** Unique for each instance, such as the name of the pod. */
  readonly identity: string
  /** ConfigMaps, gateways and failed applies are looked at again after this time; default 10 s. */
  readonly resyncMs?: number
  readonly leaseSeconds?: number
  readonly now?: () => number
}

const QUIET_MS = 100
const RESYNC_MS = 10_000
/** An API that was deleted by other means comes back after this time. */
const REPEAT_MS = 600_000
const LEASE = 'toolgate-bindings'

/** The last successful apply of an object. */
interface Applied {
  readonly tree: string
  readonly atMs: number
}

export class GatewayObjects {
  readonly #options: GatewayObjectsOptions
  readonly #leader: Leader
  readonly #rounds = new SerialQueue()
  readonly #applied = new Map<string, Applied>()
  readonly #now: () => number
  #kinds: { readonly instances: WatchedKind; readonly bindings: WatchedKind } | undefined
  #timer: NodeJS.Timeout | undefined
  #resync: NodeJS.Timeout | undefined
  #waits = false
  #closed = false

  constructor(options: GatewayObjectsOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#leader = new Leader({
      api: options.api,
      namespace: options.leaseNamespace,
      name: LEASE,
      identity: options.identity,
      log: options.log,
      onLeading: () => this.#handleChange(),
      ...(options.leaseSeconds === undefined ? {} : { leaseSeconds: options.leaseSeconds }),
    })
  }

  /** Resolves after the first round. */
  async start(): Promise<void> {
    const { api, resyncMs = RESYNC_MS } = this.#options
    const handleChange = (): void => this.#handleChange()
    this.#kinds = {
      instances: api.watch('gatewayinstances', handleChange),
      bindings: api.watch('gatewaybindings', handleChange),
    }
    await Promise.all([this.#kinds.instances.listed, this.#kinds.bindings.listed])
    await this.#leader.start()
    await this.#work()
    this.#resync = setInterval(() => void this.#work(), resyncMs)
  }

  async close(): Promise<void> {
    this.#closed = true
    // first: the round and the release of the Lease would wait for an API server that hangs
    this.#options.api.endSoon()
    clearTimeout(this.#timer)
    clearInterval(this.#resync)
    await this.#kinds?.instances.close()
    await this.#kinds?.bindings.close()
    await this.#rounds.drain()
    await this.#leader.close()
  }

  /** Combines events in quick succession into one round. */
  #handleChange(): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#work(), QUIET_MS)
  }

  /** One at a time and at most one that waits, because many applies may take longer than the interval. */
  #work(): Promise<void> {
    if (this.#waits) return Promise.resolve()
    this.#waits = true
    return this.#rounds
      .run(async () => {
        this.#waits = false
        if (this.#kinds === undefined) return
        const { instances, bindings } = this.#kinds
        const gateways = await this.#gateways()
        for (const object of bindings.list()) {
          if (this.#closed || !this.#leader.leading) return
          await this.#reconcile(object, instances.list(), gateways).catch(error =>
            this.#handleFailure(object, error),
          )
        }
        if (gateways === undefined) return
        for (const object of instances.list()) {
          if (this.#closed || !this.#leader.leading) return
          const gateway = gateways.find(({ name }) => name === gatewayNameOf(object))
          const status = statusOfInstance(object, gateway, this.#now())
          await this.#write('gatewayinstances', object, status).catch(error =>
            this.#handleFailure(object, error),
          )
        }
      })
      .catch(error =>
        this.#options.log.error(
          { err: error },
          'the GatewayInstance and GatewayBinding objects could not be reconciled',
        ),
      )
  }

  /** undefined: the control plane does not say; the objects keep their state. */
  async #gateways(): Promise<readonly ShownGateway[] | undefined> {
    if (!this.#leader.leading) return []
    try {
      return await this.#options.access.gateways()
    } catch (error) {
      if (this.#closed) return undefined
      this.#options.log.warn(
        { reason: (error as Error).message },
        'the list of gateways cannot be read from the control plane',
      )
      return undefined
    }
  }

  async #reconcile(
    object: KubeObject,
    instances: readonly KubeObject[],
    gateways: readonly ShownGateway[] | undefined,
  ): Promise<void> {
    if (object.metadata.deletionTimestamp !== undefined) return this.#release(object)
    // before the first apply, so that a deletion in between deletes what was applied
    if (!(await this.#hold(object))) return
    const state = await this.#apply(object, instances, gateways)
    // the end of the process may have ended the apply, which is not a fault of the binding: the next leader repeats it and writes the status
    if (this.#closed) return
    await this.#write('gatewaybindings', object, statusOfBinding(object, state, this.#now()))
  }

  /** @returns what the status shows, a failure included */
  async #apply(
    object: KubeObject,
    instances: readonly KubeObject[],
    gateways: readonly ShownGateway[] | undefined,
  ): Promise<BindingState> {
    const { access } = this.#options
    const key = object.metadata.uid ?? ''
    let apiId: string | undefined
    try {
      const binding = await readBinding(object, this.#readConfigMap)
      const tree = treeOf(object, binding)
      const text = JSON.stringify(tree)
      const before = this.#applied.get(key)
      if (before?.tree !== text || this.#now() - before.atMs > REPEAT_MS) {
        this.#applied.delete(key)
        await access.apply(tree, binding)
        this.#applied.set(key, { tree: text, atMs: this.#now() })
      }
      const known =
        object.status?.phase === 'Ready' && before?.tree === text ? object.status.apiId : undefined
      apiId = typeof known === 'string' ? known : await access.apiId(binding.tenant, binding.key)
      const deployment = await this.#deployment(binding, apiId, instances, gateways)
      return { fault: undefined, apiId, deployment, appliedAtMs: this.#applied.get(key)?.atMs }
    } catch (error) {
      const { message } = error as Error
      return { fault: message, apiId, deployment: undefined, appliedAtMs: this.#applied.get(key)?.atMs }
    }
  }

  /** @throws Error when the binding names no gateway that is known */
  async #deployment(
    { instance }: Binding,
    apiId: string | undefined,
    instances: readonly KubeObject[],
    gateways: readonly ShownGateway[] | undefined,
  ): Promise<ShownDeployment | undefined> {
    if (instance === undefined || apiId === undefined || gateways === undefined) return undefined
    const object = instances.find(
      ({ metadata }) => metadata.namespace === PLATFORM && metadata.name === instance,
    )
    if (object === undefined)
      throw new Error(
        `spec.gatewayRef.name is ${instance}, but the namespace ${PLATFORM} has no GatewayInstance of this name: create the GatewayInstance, or correct spec.gatewayRef.name`,
      )
    const gateway = gateways.find(({ name }) => name === gatewayNameOf(object))
    if (gateway === undefined)
      throw new Error(
        `The gateway of GatewayInstance ${instance} has not connected to the control plane. Start the gateway, or correct spec.gatewayName of the GatewayInstance.`,
      )
    return this.#options.access.deployment(apiId, gateway.id)
  }

  readonly #readConfigMap: ReadConfigMap = async (namespace, name, key) =>
    (await readKey(this.#options.api, 'ConfigMap', namespace, { name, key })).value

  get #finalizer(): string {
    return `${this.#options.apiGroup}/binding`
  }

  /** @returns false when the object has changed meanwhile */
  async #hold(object: KubeObject): Promise<boolean> {
    const finalizers = object.metadata.finalizers ?? []
    if (finalizers.includes(this.#finalizer)) return true
    return this.#replace(object, [...finalizers, this.#finalizer])
  }

  /** The API goes first: an object whose API cannot be deleted stays and says why. */
  async #release(object: KubeObject): Promise<void> {
    const finalizers = object.metadata.finalizers ?? []
    if (!finalizers.includes(this.#finalizer)) return
    try {
      await this.#options.access.apply(emptyTreeOf(object), { overwriteDrift: true })
    } catch (error) {
      // see `#reconcile`
      if (this.#closed) return
      const fault = (error as Error).message
      const state = { fault, apiId: undefined, deployment: undefined, appliedAtMs: undefined }
      return this.#write('gatewaybindings', object, statusOfBinding(object, state, this.#now()))
    }
    this.#applied.delete(object.metadata.uid ?? '')
    await this.#replace(
      object,
      finalizers.filter(name => name !== this.#finalizer),
    )
  }

  #replace(object: KubeObject, finalizers: readonly string[]): Promise<boolean> {
    const { api, apiGroup } = this.#options
    // the items of a list lack apiVersion and kind
    const head = { apiVersion: `${apiGroup}/v1alpha1`, kind: 'GatewayBinding' }
    return api.replace('gatewaybindings', {
      ...object,
      ...head,
      metadata: { ...object.metadata, finalizers },
    })
  }

  async #write(
    plural: 'gatewaybindings' | 'gatewayinstances',
    object: KubeObject,
    status: Status,
  ): Promise<void> {
    if (isWritten(object, status)) return
    const { namespace, name } = object.metadata
    await this.#options.api.writeStatus(plural, namespace, name, status)
  }

  #handleFailure({ metadata }: KubeObject, error: unknown): void {
    const { namespace, name } = metadata
    const reason = (error as Error).message
    this.#options.log.warn(
      { namespace, name, reason },
      'a GatewayInstance or GatewayBinding could not be reconciled; the reconciliation is retried',
    )
  }
}
