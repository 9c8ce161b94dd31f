/** The gateway of the control plane's own process: gets updates by a call instead of a stream, and reports the same things. */

import { Counts } from '../../data-plane/follower/counts.ts'
import type { ShareUpdate } from '../../link/control-share.ts'
import type { CountRows, GatewayState, Hello, Report } from '../../link/report.ts'
import { EVERY_TENANT, type Store } from '../store/store.ts'
import type { Fleet } from './fleet.ts'
import type { Publisher } from './publisher.ts'

const REPORT_EVERY_MS = 5_000
/** Of each kind in one transaction. */
const MAX_ROWS = 10_000

export interface LocalGatewayOptions extends Hello {
  /** Applies an update to every worker. Returns why it could not, or undefined. */
  readonly apply: (update: ShareUpdate) => string | undefined | Promise<string | undefined>
  /** What has happened since it was last asked; it is not asked for the same again. */
  readonly news?: () => GatewayState
}

export class LocalGateway {
  readonly id: string
  readonly #store: Store
  readonly #fleet: Fleet
  readonly #publisher: Publisher
  readonly #options: LocalGatewayOptions
  readonly #onFault: (message: string, error: unknown) => void
  readonly #stops: (() => void)[] = []
  #version: string | null = null
  #error: string | null = null
  #resync: string | null = null
  #sequence = 0
  #closing = false
  /** Handed in under `#sequence` and not confirmed: it goes again unchanged, so that it counts once whether or not it arrived. */
  #unconfirmed: CountRows | undefined
  readonly #counts = new Counts()
  #work: Promise<void> = Promise.resolve()

  private constructor(
    id: string,
    store: Store,
    fleet: Fleet,
    publisher: Publisher,
    options: LocalGatewayOptions,
    onFault: (message: string, error: unknown) => void,
  ) {
    this.id = id
    this.#store = store
    this.#fleet = fleet
    this.#publisher = publisher
    this.#options = options
    this.#onFault = onFault
  }

  static async start(
    store: Store,
    fleet: Fleet,
    publisher: Publisher,
    options: LocalGatewayOptions,
    onFault: (message: string, error: unknown) => void,
  ): Promise<LocalGateway> {
    const { id, resyncRequestedAt, reportSequence } = await fleet.register(options)
    const local = new LocalGateway(id, store, fleet, publisher, options, onFault)
    local.#sequence = reportSequence
    local.#resync = resyncRequestedAt?.toISOString() ?? null
    local.#stops.push(
      publisher.subscribe(() => void local.synchronize()),
      store.onSignal(signal => {
        if (signal.kind === 'resync' && signal.gatewayId === id) void local.#resynchronize()
      }),
    )
    const timer = setInterval(() => void local.report(), REPORT_EVERY_MS)
    timer.unref()
    local.#stops.push(() => clearInterval(timer))
    await local.synchronize()
    return local
  }

  /** Applies what is new, or could not be applied before, and acknowledges it; calls run one after the other. */
  synchronize(): Promise<void> {
    return this.#next(async () => {
      if (await this.#apply()) await this.#send()
    })
  }

  /** Hands in what has happened since the last time. */
  report(): Promise<void> {
    return this.#next(async () => {
      await this.#apply()
      await this.#send()
    })
  }

  /** True when there was something to apply, whether or not it could be. */
  async #apply(): Promise<boolean> {
    const update = this.#publisher.updateFrom(this.#resync === null ? this.#version : null)
    if (update === undefined) return false
    const fault = await this.#options.apply(update)
    this.#error = fault ?? null
    if (fault === undefined) this.#version = update.version
    return true
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    this.#closing = true
    await this.report()
  }

  async #resynchronize(): Promise<void> {
    const gateway = await this.#store
      .read(EVERY_TENANT, tx => tx.gateways.find(this.id))
      .catch(() => undefined)
    this.#resync = gateway?.resyncRequestedAt?.toISOString() ?? null
    await this.synchronize()
  }

  #next(work: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(work).catch(error => this.#onFault('the gateway could not report', error))
    return this.#work
  }

  async #send(): Promise<void> {
    const news = this.#options.news?.()
    if (news !== undefined) this.#counts.add(news)
    if (this.#unconfirmed === undefined) {
      this.#unconfirmed = this.#counts.take(MAX_ROWS)
      this.#sequence++
    }
    const resync = this.#error === null ? this.#resync : null
    const report: Report = {
      ...this.#unconfirmed,
      status: this.#closing ? 'draining' : (news?.status ?? 'online'),
      snapshotVersion: this.#version,
      error: this.#error,
      workers: this.#options.workers,
      resync,
      sequence: this.#sequence,
    }
    await this.#store.write(EVERY_TENANT, tx => this.#fleet.report(tx, this.id, report))
    this.#unconfirmed = undefined
    if (this.#resync === resync) this.#resync = null
  }
}
