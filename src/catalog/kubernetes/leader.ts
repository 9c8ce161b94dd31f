/** Elects a leader among instances with a Lease. */
import type { Log } from '../../telemetry/log.ts'
import type { KubernetesApi, LeaseRecord } from './api.ts'

interface LeaderOptions {
  readonly api: KubernetesApi
  readonly namespace: string
  readonly name: string
  /** Unique for each instance. */
  readonly identity: string
  readonly log: Log
  /** Called when this instance becomes the leader. */
  readonly onLeading: () => void
  readonly leaseSeconds?: number
}

const LEASE_SECONDS = 15

export class Leader {
  readonly #options: LeaderOptions
  readonly #leaseMs: number
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #closed = false
  /** Monotonic time in ms until which this instance may write. */
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

  /** Resolves after the first attempt. */
  async start(): Promise<void> {
    this.#running = this.#round()
    await this.#running
  }

  /** Releases the Lease, so that another instance can lead at once. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    // a renewal in flight changes the Lease: the release would conflict with it
    await this.#running
    if (performance.now() >= this.#leadsUntil || this.#seen === undefined) return
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
      this.#options.log.warn(
        { reason: (error as Error).message },
        'the leader election failed; it is retried',
      )
    }
    if (this.#closed) return
    this.#timer = setTimeout(() => {
      this.#running = this.#round()
    }, this.#leaseMs / 3)
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
    // Counted from before the request and shorter than the lease, for whose whole duration other instances wait.
    this.#leadsUntil = before + this.#leaseMs * 0.8
    if (!wasLeading && !this.#closed) onLeading()
    this.#seen = await api.readLease(namespace, name)
    this.#seenAt = performance.now()
  }
}
