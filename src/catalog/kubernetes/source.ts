/**
 * The Kubernetes source: passes ToolSet, Tool and ToolView objects to the Reconciler, and as the leader writes Tool objects and status.
 * `tool-objects.ts` plans the Tool objects.
 */

import { CoalescedRun } from '../../base/async/coalesced-run.ts'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { OnDamage } from '../../base/fs/damage.ts'
import { boundSecret, hostsKeyOf } from '../../model/bound-secret.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Desired } from '../desired.ts'
import { Reconciler } from '../reconcile.ts'
import type { PublishCatalog, ReportedStatus, ReportedView, ToolSource } from '../source.ts'
import type { ToolSetCompiler } from '../sync/compile-job.ts'
import { createCompiler } from '../sync/compiler.ts'
import { DefinitionStore } from '../sync/definition-store.ts'
import { DocumentStore } from '../sync/document-store.ts'
import { FileError } from '../sync/load-files.ts'
import { keyOf } from '../sync/resource-key.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { ViewReview } from '../views/view-book.ts'
import { type KubeObject, type KubernetesApi, readKey, type WatchedKind } from './api.ts'
import { desiredFromObjects } from './desired-from-objects.ts'
import { Leader } from './leader.ts'
import { editedFields, planObjects } from './tool-objects.ts'

interface KubernetesSourceOptions {
  readonly api: KubernetesApi
  readonly apiGroup: string
  readonly dataDir: string
  readonly egress: Egress
  readonly log: Log
  readonly onDamage: OnDamage
  readonly review: ViewReview
  /** Closed with the source; default: one that starts with the first document. */
  readonly compiler?: ToolSetCompiler | undefined
  /** Namespace of the Lease: that of the gateway. */
  readonly leaseNamespace: string
  /** Unique for each instance, such as the name of the pod. */
  readonly identity: string
  /** Interval for reading ConfigMaps and Secrets again, which are not watched; default 60 s. */
  readonly resyncMs?: number
  readonly leaseSeconds?: number
}

const QUIET_MS = 100
const RESYNC_MS = 60_000
const RETRY_MS = 500
const LEASE = 'toolgate-toolsets'
/** After this many consecutive failures the API server counts as unavailable, and the next change retries. */
const MAX_FAILURES = 3

export function createKubernetesSource(options: KubernetesSourceOptions): ToolSource {
  return new KubernetesSource(options)
}

class KubernetesSource implements ToolSource {
  readonly references: ReferenceReader
  readonly #options: KubernetesSourceOptions
  readonly #compiler: ToolSetCompiler
  readonly #leader: Leader
  #caches: { readonly toolsets: WatchedKind; readonly tools: WatchedKind } | undefined
  /** undefined: the cluster has no ToolViews. */
  #views: WatchedKind | undefined
  #reconciler: Reconciler | undefined
  #whyNoViews: string | undefined
  #quiet: NodeJS.Timeout | undefined
  #resync: NodeJS.Timeout | undefined
  readonly #reconciliations = new SerialQueue()
  /** Runs beside the reconciliation, because thousands of objects take minutes. */
  readonly #writes = new CoalescedRun(() => this.#writeObjects())
  #listed = false
  #refreshing = false
  #closed = false

  constructor(options: KubernetesSourceOptions) {
    this.#options = options
    this.#compiler = options.compiler ?? createCompiler()
    this.references = references(options.api)
    this.#leader = new Leader({
      api: options.api,
      namespace: options.leaseNamespace,
      name: LEASE,
      identity: options.identity,
      log: options.log,
      onLeading: () => this.#lead(),
      ...(options.leaseSeconds === undefined ? {} : { leaseSeconds: options.leaseSeconds }),
    })
  }

  async start(publish: PublishCatalog, refreshOthers?: () => Promise<void>): Promise<void> {
    const { api, dataDir, egress, log, onDamage, review } = this.#options
    this.#reconciler = new Reconciler(
      {
        references: this.references,
        compiler: this.#compiler,
        documents: new DocumentStore(dataDir, onDamage),
        definitions: new DefinitionStore(dataDir, onDamage),
        egress,
        random: Math.random,
        statuses: {
          write: async ({ namespace, name }, status) => {
            if (this.#leader.leading)
              await api.writeStatus('toolsets', namespace, name, withoutAbsent(status))
          },
          // The status is part of the deleted object.
          remove: async () => {},
        },
        viewStatuses: {
          write: async ({ namespace, name }, status) => {
            if (this.#leader.leading)
              await api.writeStatus('toolviews', namespace, name, { ...ABSENT_OF_VIEW, ...status })
          },
          remove: async () => {},
        },
        review,
        log,
        now: Date.now,
      },
      (tools, views) => {
        publish(tools, views)
        this.#handleChange()
      },
    )
    const handleChange = (): void => this.#handleChange()
    this.#caches = {
      toolsets: api.watch('toolsets', handleChange),
      tools: api.watch('tools', handleChange),
    }
    await Promise.all([this.#caches.toolsets.listed, this.#caches.tools.listed])
    await this.#watchViews()
    this.#listed = true
    await this.#leader.start()
    await this.#work()
    if (this.#closed) return
    this.#resync = setInterval(() => void this.#refresh(refreshOthers), this.#options.resyncMs ?? RESYNC_MS)
    this.#resync.unref()
  }

  statuses(): readonly ReportedStatus[] {
    return this.#reconciler?.statuses() ?? []
  }

  viewStatuses(): readonly ReportedView[] {
    return this.#reconciler?.viewStatuses() ?? []
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#options.api.endSoon()
    clearTimeout(this.#quiet)
    clearInterval(this.#resync)
    await this.#caches?.toolsets.close()
    await this.#caches?.tools.close()
    await this.#views?.close()
    await this.#reconciler?.close()
    await this.#reconciliations.drain()
    await this.#writes.stop()
    await this.#leader.close()
    await this.#compiler.close()
  }

  /** Combines events in quick succession into one change. */
  #handleChange(): void {
    if (this.#closed || !this.#listed) return
    clearTimeout(this.#quiet)
    this.#quiet = setTimeout(() => void this.#work(), QUIET_MS)
  }

  /** One at a time, because reading many ConfigMaps may take longer than the interval. */
  async #refresh(refreshOthers: (() => Promise<void>) | undefined): Promise<void> {
    if (this.#refreshing) return
    this.#refreshing = true
    await Promise.all([this.#reconciler?.refreshLocal(), refreshOthers?.()]).catch(error =>
      this.#options.log.error(
        { err: error },
        'the ConfigMaps and Secrets of the cluster could not be read; the gateway uses the values that it read before',
      ),
    )
    await this.#watchViews()
    this.#refreshing = false
    this.#handleChange()
  }

  /** `helm upgrade` adds no definition: a cluster without ToolViews is served as before, and is asked again. */
  async #watchViews(): Promise<void> {
    if (this.#views !== undefined || this.#closed) return
    const { api, log } = this.#options
    const reason = await this.#whyNotServed()
    if (this.#closed) return
    if (reason !== undefined) {
      if (reason !== this.#whyNoViews)
        log.warn(
          { reason },
          'the gateway cannot read ToolViews: apply the CustomResourceDefinitions and RBAC rules of this gateway version',
        )
      this.#whyNoViews = reason
      return
    }
    this.#views = api.watch('toolviews', () => this.#handleChange())
    await this.#views.listed
  }

  /** Asks until the API server responds: without its views, a list would be too long. */
  async #whyNotServed(): Promise<string | undefined> {
    while (!this.#closed) {
      try {
        return await this.#options.api.whyNotServed('toolviews')
      } catch {
        await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      }
    }
    return undefined
  }

  #lead(): void {
    this.#options.log.info(
      { identity: this.#options.identity },
      'this instance is the leader: it writes Tool objects and the status of ToolSets and ToolViews',
    )
    this.#reconciler?.reportAll()
    this.#handleChange()
  }

  #work(): Promise<void> {
    return this.#reconciliations
      .run(async () => {
        if (this.#closed) return
        await this.#reconciler!.apply(await this.#desired())
        if (this.#leader.leading) this.#writes.request()
      })
      .catch(error =>
        this.#options.log.error({ err: error }, 'the ToolSets of the cluster could not be reconciled'),
      )
  }

  #desired(): Promise<Desired> {
    const { apiGroup } = this.#options
    const { toolsets, tools } = this.#caches!
    const views = this.#views?.list() ?? []
    return desiredFromObjects(toolsets.list(), tools.list(), views, this.references, apiGroup)
  }

  async #writeObjects(): Promise<void> {
    let failures = 0
    for (const write of this.#plannedWrites()) {
      if (this.#closed || !this.#leader.leading || failures >= MAX_FAILURES) return
      try {
        await write()
        failures = 0
      } catch (error) {
        failures++
        this.#options.log.warn(
          { reason: (error as Error).message },
          'a Tool object could not be written or deleted',
        )
      }
    }
  }

  /** After a conflict, the next change plans again. */
  *#plannedWrites(): Generator<() => Promise<unknown>> {
    const { api, apiGroup } = this.#options
    const owners = new Map(this.#caches!.toolsets.list().map(object => [keyOf(object.metadata), object]))
    const live = groupByOwner(this.#caches!.tools.list())
    for (const { namespace, name, tools, enabled } of this.#reconciler!.generatedTools()) {
      const uid = owners.get(keyOf({ namespace, name }))?.metadata.uid
      if (uid === undefined) continue
      const plan = planObjects(tools, live.get(uid) ?? [], { namespace, name, uid }, apiGroup)
      for (const object of plan.create) yield () => api.create('tools', object)
      for (const object of plan.replace) yield () => api.replace('tools', object)
      for (const object of plan.remove) {
        // Keeps edited objects of a disabled tool set until it is enabled again.
        if (!enabled && Object.keys(editedFields(object, apiGroup)).length > 0) continue
        yield () => api.remove('tools', object.metadata.namespace, object.metadata.name)
      }
    }
  }
}

function references(api: KubernetesApi): ReferenceReader {
  return {
    readDocument: async (kind, namespace, ref) =>
      (await readKey(api, kind === 'secret' ? 'Secret' : 'ConfigMap', namespace, ref)).value,
    async readFile(namespace, { name }, path) {
      if (path.includes('/'))
        throw new FileError(
          `the path ${path} contains a folder, but a ConfigMap has only keys`,
          'refer to a key',
        )
      return (await readKey(api, 'ConfigMap', namespace, { name, key: path })).value
    },
    readSecret: async (namespace, ref) => {
      const { value, keys } = await readKey(api, 'Secret', namespace, ref)
      return boundSecret(ref, value, keys[hostsKeyOf(ref.key)])
    },
  }
}

/** As `withoutAbsent`. */
const ABSENT_OF_VIEW = { lastError: null, leftOut: null, tokenBudget: null }

/** A merge patch removes a field only when it is null. */
function withoutAbsent(status: object): object {
  return {
    lastError: null,
    lastSyncedAt: null,
    specHash: null,
    breakingChanges: null,
    pendingDefinitions: null,
    ...status,
  }
}

function ownerOf({ metadata }: KubeObject): string {
  return metadata.ownerReferences?.find(reference => reference.kind === 'ToolSet')?.uid ?? ''
}

function groupByOwner(objects: readonly KubeObject[]): Map<string, KubeObject[]> {
  const groups = new Map<string, KubeObject[]>()
  for (const object of objects) {
    const group = groups.get(ownerOf(object))
    if (group === undefined) groups.set(ownerOf(object), [object])
    else group.push(object)
  }
  return groups
}
