/** Reports of a gateway that runs apart: signs of life, acknowledgements, counts. It follows no snapshot. */

import type { GatewayState, Report } from '../../link/report.ts'
import type { Log } from '../../shared/telemetry/log.ts'
import type { ControlPlaneClient } from './http-transport.ts'
import { ReportBook } from './report-book.ts'

const REPORT_EVERY_MS = 5_000

export interface ReporterOptions {
  readonly client: ControlPlaneClient
  /** File for counts that are not handed in yet. */
  readonly bookPath: string
  readonly workers: number
  /** What has happened since it was last asked; it is not asked for the same again. */
  readonly news: () => GatewayState
  readonly log: Log
}

export class Reporter {
  readonly #options: ReporterOptions
  readonly #book: ReportBook
  #gatewayId: string | undefined
  #version: string | null = null
  #error: string | null = null
  #resync: string | null = null
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #again = false
  #closing = false

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#book = new ReportBook(options.bookPath)
  }

  /** @throws Error of the file system */
  async start(): Promise<void> {
    await this.#book.load()
    this.#timer = setInterval(() => void this.report(), REPORT_EVERY_MS)
    this.#timer.unref()
  }

  /** The control plane has taken the instance up. @param hello data of its first event */
  registered(hello: unknown): void {
    const { gateway_id, sequence } = (hello ?? {}) as { [name: string]: unknown }
    if (typeof gateway_id !== 'string') throw new Error('the control plane named no gateway_id')
    this.#gatewayId = gateway_id
    if (typeof sequence === 'number') this.#book.settle(sequence)
    void this.report()
  }

  /** What is served from now on, or why the newest is not; told at once. */
  serves(version: string, error: string | null, resync: string | null = null): void {
    this.#version = version === '' ? null : version
    this.#error = error
    if (resync !== null) this.#resync = resync
    void this.report()
  }

  /** Never rejects: what could not be handed in is handed in with the next. */
  report(): Promise<void> {
    this.#again = true
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closing = true
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
      log.debug({ reason: String(error) }, 'the report could not be handed in')
    }
  }

  async #send(): Promise<void> {
    const { client, news, workers } = this.#options
    const { status, ...rows } = news()
    this.#book.add(rows)
    if (this.#gatewayId === undefined) return this.#book.save()
    const resync = this.#error === null ? this.#resync : null
    const batch = await this.#book.next()
    const report: Report = {
      ...batch,
      status: this.#closing ? 'draining' : status,
      snapshotVersion: this.#version,
      error: this.#error,
      workers,
      resync,
      sequence: this.#book.sequence,
    }
    if (!(await client.report(this.#gatewayId, report))) {
      // a control plane with another database: the next stream registers anew
      this.#gatewayId = undefined
      return
    }
    this.#book.confirm()
    if (this.#resync === resync) this.#resync = null
    if (this.#book.waiting) this.#again = true
  }
}
