/** Sends the reports of a gateway on its state, its counts and administrators' actions. */

import type { OnDamage } from '../../base/fs/damage.ts'
import type { GatewayState, Report, ReportedDefinitions } from '../../link/report.ts'
import type { ControlPlaneTransport, HelloEvent } from '../../link/transport.ts'
import type { Log } from '../../telemetry/log.ts'
import type { AdminActions } from './admin-actions.ts'
import { ReportBook } from './report-book.ts'

const REPORT_EVERY_MS = 5_000
/** For administrators, in one report. */
const MAX_ACTIONS = 200
/** In one report; each has up to 80,000 characters. */
const MAX_DEFINITIONS = 3

interface ReporterOptions {
  readonly transport: ControlPlaneTransport
  /** File of the counts that are not confirmed; undefined: they are kept in memory only. */
  readonly bookPath: string | undefined
  readonly onDamage: OnDamage
  readonly workers: number
  readonly adminActions: Pick<AdminActions, 'pending' | 'confirm' | 'onAdded'>
  /** The status, and the counts since the previous call; none is returned twice. */
  readonly takeState: () => GatewayState
  readonly log: Log
}

export class Reporter {
  readonly #options: ReporterOptions
  readonly #book: ReportBook
  #gatewayId: string | undefined
  #version: string | null = null
  #error: string | null = null
  #resync: string | null = null
  /** Definitions in the last reports taken, as JSON by API. */
  readonly #reported = new Map<string, string>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #again = false
  #closing = false

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#book = new ReportBook(options.bookPath, options.onDamage)
  }

  /** @throws Error of the file system */
  async start(): Promise<void> {
    await this.#book.load()
    this.#options.adminActions.onAdded(() => void this.report())
    this.#timer = setInterval(() => void this.report(), REPORT_EVERY_MS)
    this.#timer.unref()
  }

  /** @param hello data of the first event of a stream */
  handleRegistration(hello: unknown): void {
    const { gateway_id, sequence } = (hello ?? {}) as Partial<HelloEvent>
    if (typeof gateway_id !== 'string')
      throw new Error('the event "hello" from the control plane has no gateway_id')
    this.#gatewayId = gateway_id
    if (typeof sequence === 'number') this.#book.settle(sequence)
    void this.report()
  }

  /** Assigned by the control plane; undefined before it has registered the instance, and once it no longer has it. */
  get gatewayId(): string | undefined {
    return this.#gatewayId
  }

  /** Reports at once which version is served. @param error why the newest one is not */
  serves(version: string, error: string | null, resync: string | null = null): void {
    this.#version = version === '' ? null : version
    this.#error = error
    if (resync !== null) this.#resync = resync
    void this.report()
  }

  /** Never rejects: counts that could not be sent are part of the next report. */
  report(): Promise<void> {
    this.#again = true
    this.#running ??= this.#drain()
    return this.#running
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closing = true
    // a report in flight that fails would not take the last counts
    await this.#running
    await this.report()
  }

  async #drain(): Promise<void> {
    const { log } = this.#options
    try {
      while (this.#again) {
        this.#again = false
        await this.#send()
      }
    } catch (error) {
      log.debug(
        { reason: String(error) },
        'the gateway could not send a report to the control plane; the next report contains the unsent counts',
      )
    } finally {
      // in the same step as the last look at the flag: a report that is requested in between would wait for the timer
      this.#running = undefined
    }
  }

  async #send(): Promise<void> {
    const { transport, takeState, workers, adminActions } = this.#options
    const { status, definitions: current = [], ...rows } = takeState()
    this.#book.add(rows)
    if (this.#gatewayId === undefined) return this.#book.save()
    const resync = this.#error === null ? this.#resync : null
    const batch = await this.#book.next()
    const definitions = this.#changed(current)
    const report: Report = {
      ...batch,
      status: this.#closing ? 'draining' : status,
      snapshotVersion: this.#version,
      error: this.#error,
      workers,
      resync,
      sequence: this.#book.sequence,
      adminActions: adminActions.pending(MAX_ACTIONS),
      definitions: definitions.slice(0, MAX_DEFINITIONS),
    }
    if (!(await transport.report(this.#gatewayId, report))) {
      // a control plane with another database: the next stream registers the instance there
      this.#gatewayId = undefined
      this.#reported.clear()
      return
    }
    this.#book.confirm()
    for (const one of report.definitions ?? []) this.#reported.set(one.apiId, JSON.stringify(one))
    await adminActions.confirm(report.adminActions)
    if (this.#resync === resync) this.#resync = null
    const hasMore = this.#book.hasMore || definitions.length > MAX_DEFINITIONS
    if (hasMore || adminActions.pending(1).length > 0) this.#again = true
  }

  #changed(current: readonly ReportedDefinitions[]): readonly ReportedDefinitions[] {
    const ids = new Set(current.map(({ apiId }) => apiId))
    for (const id of this.#reported.keys()) if (!ids.has(id)) this.#reported.delete(id)
    return current.filter(one => this.#reported.get(one.apiId) !== JSON.stringify(one))
  }
}
