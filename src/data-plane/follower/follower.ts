/** Follows a control plane: takes its updates, keeps a copy of the share, replies to questions and watches the connection. `reporter.ts` sends the reports. */
import { join } from 'node:path'
import { Backoff, type BackoffOptions } from '../../base/async/backoff.ts'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { wholeShare } from '../../link/control-share.ts'
import { type FleetQuestion, type FleetReply, readQuestion } from '../../link/fleet-question.ts'
import type { Hello } from '../../link/report.ts'
import type { ControlPlaneTransport, SnapshotStream } from '../../link/transport.ts'
import { type MarkedUpdate, UpdateReader } from '../../link/update-events.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Configuration } from '../snapshot/gateway-configuration.ts'
import type { Reporter } from './reporter.ts'
import { ShareFile } from './share-file.ts'

/** A silent stream is checked by a poll: a revocation may take effect after 5 s at the latest. */
const POLL_AFTER_SILENCE_MS = 2_500
/** Three heartbeats of the control plane missed. */
const DEAD_AFTER_SILENCE_MS = 16_000
const WATCH_EVERY_MS = 250
const MAX_REPLIES = 8
/** With jitter: the gateways of a fleet must not reconnect at once. */
const RETRY = { firstMs: 100, maxMs: 1_000, jitter: 0.5 }

export interface FollowerOptions {
  readonly transport: ControlPlaneTransport
  readonly reporter: Reporter
  readonly hello: Hello
  /** Folder of the copy of the last share; undefined: no copy is kept. */
  readonly dataDir: string | undefined
  readonly configuration: Configuration
  /** When a version that could not be served is requested again. */
  readonly retryRefused: BackoffOptions
  /** Called with the damage found in the copy of the last share, and with undefined once a new copy has been written. */
  readonly onDamage: (damage: string | undefined) => void
  /** Called with the reason why the share may be outdated, and with undefined once it is not. */
  readonly onFault: (fault: string | undefined) => void
  /** To questions about calls; absent: they have no reply. */
  readonly replyTo?: (question: FleetQuestion) => Promise<FleetReply>
  readonly log: Log
}

export class Follower {
  readonly #options: FollowerOptions
  readonly #file: ShareFile | undefined
  /** The newest version, which could not be served, and when it may be requested again. */
  #refused: { readonly version: string; readonly retryAtMs: number } | undefined
  /** The stream was closed to get the refused version on a new one: that is not a fault of the connection. */
  #isRequestingAgain = false
  readonly #refusedBackoff: Backoff
  /** Why the last update was invalid; undefined once a valid one has arrived, or none is due. */
  #invalid: string | undefined
  #stream: SnapshotStream | undefined
  #polledAtMs = 0
  #watch: NodeJS.Timeout | undefined
  #isPolling = false
  /** Being made or sent. */
  #replies = 0
  /** The last reason passed to `onFault`: the same is not reported with every retry. */
  #reported: string | undefined
  readonly #closing = new AbortController()
  #following: Promise<void> = Promise.resolve()
  readonly #updates = new SerialQueue()

  constructor(options: FollowerOptions) {
    this.#options = options
    this.#refusedBackoff = new Backoff(options.retryRefused)
    if (options.dataDir !== undefined)
      this.#file = new ShareFile(join(options.dataDir, 'control-share.ndjson'))
  }

  /**
   * Begins to follow. Resolves when the copy on disk, where there is one, is served: the first share of the control plane may arrive
   * later. @throws Error of the file system
   */
  async start(): Promise<void> {
    await this.#serveCopy()
    await this.#options.reporter.start()
    this.#following = this.#follow()
    this.#watch = setInterval(() => this.#checkSilence(), WATCH_EVERY_MS)
    this.#watch.unref()
  }

  /** The last report has the status `draining`. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#watch)
    this.#closing.abort()
    this.#stream?.close()
    await this.#following
    await this.#updates.drain()
    await this.#options.reporter.close()
  }

  async #serveCopy(): Promise<void> {
    const { log, configuration, reporter, onDamage } = this.#options
    const loaded = await this.#file?.load()
    if (loaded === undefined) return
    const { share, damage } = loaded
    if (damage !== undefined) {
      log.error({ damage, version: share.version || null }, 'the snapshot in DATA_DIR is damaged')
      onDamage(damage)
    }
    if (share.version === '') return
    if ((await configuration.change({ control: wholeShare(share) })) !== undefined) return
    reporter.serves(share.version, null)
    log.info(
      { version: share.version },
      'the gateway serves the snapshot in DATA_DIR until the control plane responds',
    )
  }

  /** The same reason is reported once. */
  #reportLost(reason: string): void {
    if (reason === this.#reported) return
    this.#reported = reason
    this.#options.onFault(connectionFault(reason))
    this.#options.log.warn(
      { reason },
      'the gateway has no connection to the control plane and serves the last snapshot',
    )
  }

  async #follow(): Promise<void> {
    const { signal } = this.#closing
    const backoff = new Backoff(RETRY)
    while (!signal.aborted) {
      this.#isRequestingAgain = false
      try {
        // returns when the stream ends properly: the credential expired, or the control plane restarts
        await this.#followOnce(() => backoff.reset())
      } catch (error) {
        if (signal.aborted) return
        if (this.#isRequestingAgain) continue
        this.#reportLost(error instanceof Error ? error.message : String(error))
        await this.#poll()
      }
      await backoff.wait(signal)
    }
  }

  async #followOnce(onHello: () => void): Promise<void> {
    const { transport, hello, reporter, onFault, log, configuration } = this.#options
    const stream = await transport.connect(hello, this.#from)
    if (this.#closing.signal.aborted) return stream.close()
    this.#stream = stream
    const reader = new UpdateReader()
    let isSkipping = false
    try {
      for await (const event of stream.events) {
        if (event.name === 'hello') {
          reporter.handleRegistration(event.data)
          onHello()
          onFault(undefined)
          this.#reported = undefined
          log.info({ version: configuration.share.version }, 'the gateway is connected to the control plane')
          continue
        }
        if (event.name === 'question') {
          void this.#reply(event.data)
          continue
        }
        // the events after a faulty one mean nothing until the next update begins
        if (event.name === 'begin') isSkipping = false
        if (isSkipping) continue
        let marked: MarkedUpdate | undefined
        try {
          marked = reader.take(event)
        } catch (error) {
          isSkipping = true
          this.#refuse((error as Error).message)
        }
        // a stale update follows one that was refused: a new stream starts from the version that is served
        if (marked !== undefined && !(await this.#take(marked))) return
      }
    } finally {
      this.#stream = undefined
      stream.close()
    }
  }

  /** Never rejects: the control plane says which gateways did not reply. */
  async #reply(data: unknown): Promise<void> {
    const { transport, reporter, replyTo, log } = this.#options
    const question = readQuestion(data)
    const { gatewayId } = reporter
    if (question === undefined || replyTo === undefined || gatewayId === undefined) return
    if (this.#replies >= MAX_REPLIES) return
    this.#replies++
    try {
      await transport.reply(gatewayId, await replyTo(question))
    } catch (error) {
      log.debug(
        { reason: String(error) },
        'the gateway could not respond to a question from the control plane',
      )
    } finally {
      this.#replies--
    }
  }

  /** Four times a second: a connection can be dead without an error. */
  #checkSilence(): void {
    if (this.#stream === undefined) return
    const now = performance.now()
    const { heardAtMs } = this.#stream
    const isRetryDue = now > (this.#refused?.retryAtMs ?? Number.POSITIVE_INFINITY)
    if (isRetryDue) {
      // until it has been refused again
      this.#refused = { ...this.#refused!, retryAtMs: Number.POSITIVE_INFINITY }
      this.#isRequestingAgain = true
    }
    if (isRetryDue || now - heardAtMs > DEAD_AFTER_SILENCE_MS) return this.#stream.close()
    const isSilent = now - Math.max(heardAtMs, this.#polledAtMs) > POLL_AFTER_SILENCE_MS
    if (isSilent && !this.#isPolling) void this.#checkSilent(this.#stream)
  }

  /** A control plane that neither sends heartbeats nor responds to a poll is lost: another connection may reach it. */
  async #checkSilent(stream: SnapshotStream): Promise<void> {
    const fault = await this.#poll()
    if (fault === undefined || this.#stream !== stream || this.#closing.signal.aborted) return
    this.#reportLost(fault)
    stream.close()
  }

  /** Never rejects. @returns why there was no response */
  async #poll(): Promise<string | undefined> {
    this.#isPolling = true
    this.#polledAtMs = performance.now()
    try {
      const before = this.#refused
      const update = await this.#options.transport.poll(this.#from)
      const refused = this.#refused
      if (update === null) {
        // a version that was refused meanwhile is newer than this response
        if (refused === before) this.#accept()
      }
      // the version of a malformed update can be undefined
      else if (refused === undefined || update.version !== refused.version)
        await this.#take({ update, resync: null })
      return undefined
    } catch (error) {
      this.#options.log.debug(
        { reason: String(error) },
        'the gateway could not poll the control plane for an update',
      )
      return error instanceof Error ? error.message : String(error)
    } finally {
      this.#isPolling = false
    }
  }

  /** Updates are taken one after the other. @returns false when one is stale: it builds on another version than is served */
  #take(marked: MarkedUpdate): Promise<boolean> {
    return this.#updates.run(() => this.#apply(marked))
  }

  async #apply(marked: MarkedUpdate): Promise<boolean> {
    const { configuration, reporter } = this.#options
    const { update, resync } = marked
    if (update.version === this.#version && resync === null) {
      this.#accept()
      return true
    }
    const outcome = await configuration.update(update)
    if (outcome.kind === 'stale') return false
    if (outcome.kind === 'invalid') this.#refuse(outcome.reason)
    if (outcome.kind === 'refused') {
      if (update.version !== this.#refused?.version) this.#refusedBackoff.reset()
      const retryAtMs = performance.now() + this.#refusedBackoff.nextMs()
      this.#refused = { version: update.version, retryAtMs }
      reporter.serves(this.#version, outcome.reason)
    }
    if (outcome.kind !== 'served') return true
    this.#refused = undefined
    this.#recover()
    reporter.serves(this.#version, null, resync)
    // the stream waits for the disk: the control plane then merges changes that come faster than it writes
    await this.#save(marked)
    return true
  }

  async #save(last: MarkedUpdate): Promise<void> {
    const { configuration, onDamage, log } = this.#options
    if (this.#file === undefined) return
    try {
      await this.#file.save(configuration.share, last)
      onDamage(undefined)
    } catch (error) {
      log.error({ err: error }, 'the snapshot could not be written to DATA_DIR')
    }
  }

  /** '' before the first. */
  get #version(): string {
    return this.#options.configuration.share.version
  }

  /** The version that updates are to build on; null requests the whole share, also after an invalid update. */
  get #from(): string | null {
    return this.#invalid === undefined && this.#version !== '' ? this.#version : null
  }

  /** Refuses an invalid update: the last good snapshot stays, in memory and on disk. */
  #refuse(reason: string): void {
    const { reporter, onFault, log } = this.#options
    const fault = `the gateway refused an update from the control plane: ${reason}`
    onFault(fault)
    if (reason === this.#invalid) return
    this.#invalid = reason
    log.warn({ reason }, 'the gateway refused an update from the control plane and serves the last snapshot')
    reporter.serves(this.#version, fault)
  }

  /** The control plane has nothing newer than what is served: a version that was refused has been taken back. */
  #accept(): void {
    const { configuration, reporter } = this.#options
    const isTakenBack = this.#refused !== undefined
    this.#refused = undefined
    const isValid = this.#recover()
    // the threads compare what they serve with the newest document that they know, which is the refused one
    if (isTakenBack)
      void configuration.change({}).then(fault => reporter.serves(this.#version, fault ?? null))
    else if (isValid) reporter.serves(this.#version, null)
  }

  /** @returns whether the last update was refused as invalid */
  #recover(): boolean {
    if (this.#invalid === undefined) return false
    this.#invalid = undefined
    this.#options.onFault(this.#reported === undefined ? undefined : connectionFault(this.#reported))
    return true
  }
}

function connectionFault(reason: string): string {
  return `the gateway receives no updates from the control plane: ${reason}`
}
