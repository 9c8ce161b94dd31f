/** Leader election through a Lease: at most one instance writes. It compares no clocks: only how long a record stays the same here. */
import type { Log } from '../../shared/telemetry/log.ts'
import type { KubernetesApi, LeaseRecord } from './api.ts'

export interface LeaderOptions {
  readonly api: KubernetesApi
  readonly namespace: string
  readonly name: string
  /** Unique among the instances. */
  readonly identity: string
  readonly log: Log
  /** Told when this instance begins to lead. */
  readonly onLeading: () => void
  readonly leaseSeconds?: number
}

const LEASE_SECONDS = 15

export class Leader {
  readonly #options: LeaderOptions
  readonly #leaseMs: number
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** Monotonic ms until which this instance may write. */
  #leadsUntil = 0
  #seen: LeaseRecord | undefined
  #seenAt = 0

  constructor(options: LeaderOptions) {
    this.#options = options
    this.#leaseMs = (options.leaseSeconds ?? LEASE_SECONDS) * 1000
  }

  get leading(): boolean {
    return !this.#closed && performance.now() < this.#leadsUntil
  }

  /** Resolves after the first try. */
  async start(): Promise<void> {
    await this.#round()
  }

  /** Gives the Lease back, so that another instance need not wait. */
  async close(): Promise<void> {
    const wasLeading = this.leading
    this.#closed = true
    clearTimeout(this.#timer)
    if (!wasLeading || this.#seen === undefined) return
    const { api, namespace, name } = this.#options
    const { resourceVersion } = this.#seen
    await api
      .writeLease(namespace, name, { holder: '', durationSeconds: 1, resourceVersion })
      .catch(() => false)
  }

  async #round(): Promise<void> {
    try {
      await this.#try()
    } catch (error) {
      this.#options.log.warn({ reason: (error as Error).message }, 'the leader election cannot be held')
    }
    if (this.#closed) return
    this.#timer = setTimeout(() => void this.#round(), this.#leaseMs / 3)
    this.#timer.unref()
  }

  async #try(): Promise<void> {
    const { api, namespace, name, identity, onLeading } = this.#options
    const record = await api.readLease(namespace, name)
    if (record.resourceVersion !== this.#seen?.resourceVersion) {
      this.#seen = record
      this.#seenAt = performance.now()
    }
    const isFree = record.holder === '' || performance.now() - this.#seenAt > record.durationSeconds * 1000
    if (record.holder !== identity && !isFree) return
    const before = performance.now()
    const mine = {
      holder: identity,
      durationSeconds: this.#leaseMs / 1000,
      resourceVersion: record.resourceVersion,
    }
    if (this.#closed || !(await api.writeLease(namespace, name, mine))) return
    const wasLeading = this.leading
    // Counted from before the request, and given up early: the others wait for the whole lease.
    this.#leadsUntil = before + this.#leaseMs * 0.8
    this.#seen = await api.readLease(namespace, name)
    this.#seenAt = performance.now()
    if (!wasLeading) onLeading()
  }
}
