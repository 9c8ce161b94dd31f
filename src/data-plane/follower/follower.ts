/**
 * A gateway that runs apart: follows the snapshots of its control plane, keeps the last share on disk, reports. It starts from that
 * copy when the control plane is away. It compiles nothing and serves no request.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { updateFault } from '../../link/check-update.ts'
import {
  applyUpdate,
  type ControlShare,
  EMPTY_SHARE,
  type ShareUpdate,
  wholeShare,
} from '../../link/control-share.ts'
import type { Hello } from '../../link/report.ts'
import { versionOfContent } from '../../link/share-version.ts'
import { type MarkedUpdate, UpdateReader } from '../../link/update-events.ts'
import { serverEvents } from '../../shared/egress/server-events.ts'
import type { Log } from '../../shared/telemetry/log.ts'
import type { ControlPlaneClient, SnapshotStream } from './http-transport.ts'
import type { Reporter } from './reporter.ts'
import { ShareFile } from './share-file.ts'

/** A stream that brings nothing for this long is checked by asking: what was revoked may live on for 5 s at the worst. */
const POLL_AFTER_SILENCE_MS = 2_500
/** Three heartbeats of the control plane missed. */
const DEAD_AFTER_SILENCE_MS = 16_000
const WATCH_EVERY_MS = 500
/** One event holds a hundred tenants at most. */
const MAX_EVENT_CHARACTERS = 256 * 1024 * 1024
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 2_000

export interface RemoteGatewayOptions {
  readonly client: ControlPlaneClient
  readonly reporter: Reporter
  readonly hello: Hello
  /** The last share is kept in it. */
  readonly dataDir: string
  /** Serves an update. @returns why it could not */
  readonly apply: (update: ShareUpdate) => Promise<string | undefined>
  /** Told why the share may be old, and undefined once it is not. */
  readonly onFault: (fault: string | undefined) => void
  readonly log: Log
}

export class RemoteGateway {
  readonly #options: RemoteGatewayOptions
  readonly #file: ShareFile
  #share: ControlShare = EMPTY_SHARE
  /** A version that could not be served: it is not asked for again. */
  #refused: string | undefined
  /** Why the last update from the control plane was no valid one; undefined once a valid one, or none, has come since. */
  #invalid: string | undefined
  #stream: SnapshotStream | undefined
  /** When the stream brought anything, and when it was last asked what it should have brought. */
  #heardAtMs = 0
  #askedAtMs = 0
  #watch: NodeJS.Timeout | undefined
  #polling = false
  /** The fault that was told last: it is not told again with every try. */
  #reported: string | undefined
  #closing = new AbortController()
  #following: Promise<void> = Promise.resolve()
  #work: Promise<unknown> = Promise.resolve()
  #wakeFirst: () => void = () => {}

  constructor(options: RemoteGatewayOptions) {
    this.#options = options
    this.#file = new ShareFile(join(options.dataDir, 'control-share.ndjson'))
  }

  /**
   * Serves the copy on disk, where there is one, and begins to follow.
   * Resolves when a share is served, or after `waitMs` without any: following goes on. @throws Error of the file system
   */
  async start(waitMs: number): Promise<void> {
    const { log, apply, reporter } = this.#options
    const kept = await this.#file.load(() => log.warn({}, 'the end of the kept snapshot is damaged'))
    if (kept.version !== '') {
      const fault = await apply(wholeShare(kept))
      if (fault === undefined) {
        this.#share = kept
        reporter.serves(kept.version, null)
        log.info({ version: kept.version }, 'serving the kept snapshot until the control plane answers')
      }
    }
    const first = new Promise<void>(resolve => {
      this.#wakeFirst = resolve
    })
    await reporter.start()
    this.#following = this.#follow()
    this.#watch = setInterval(() => this.#listen(), WATCH_EVERY_MS)
    this.#watch.unref()
    if (this.#share.version !== '') return
    await Promise.race([first, sleep(waitMs, undefined, { signal: this.#closing.signal, ref: false })])
  }

  /** The last report says that it drains. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#watch)
    this.#closing.abort()
    this.#stream?.close()
    await this.#following
    await this.#work
    await this.#options.reporter.close()
  }

  async #follow(): Promise<void> {
    const { log, onFault } = this.#options
    const { signal } = this.#closing
    let retryMs = FIRST_RETRY_MS
    while (!signal.aborted) {
      try {
        await this.#followOnce(() => {
          retryMs = FIRST_RETRY_MS
        })
        // the stream has come to its proper end: the credential expired, or the control plane restarts
      } catch (error) {
        if (signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        if (reason !== this.#reported) {
          this.#reported = reason
          onFault(followFault(reason))
          log.warn({ reason }, 'the control plane cannot be followed; serving the last snapshot')
        }
        await this.#poll()
      }
      // by chance earlier: a whole fleet must not come back at once
      await sleep(retryMs * (0.5 + Math.random() / 2), undefined, { signal, ref: false }).catch(() => {})
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
    }
  }

  async #followOnce(onHello: () => void): Promise<void> {
    const { client, hello, reporter, onFault, log } = this.#options
    const stream = await client.stream(hello, this.#from)
    if (this.#closing.signal.aborted) return stream.close()
    this.#stream = stream
    this.#heardAtMs = performance.now()
    const reader = new UpdateReader()
    let isSkipping = false
    const options = {
      maxEventCharacters: MAX_EVENT_CHARACTERS,
      onBytes: () => {
        this.#heardAtMs = performance.now()
      },
    }
    try {
      for await (const { name, data: text } of serverEvents(stream.body, options)) {
        const event = { name, data: JSON.parse(text) as unknown }
        if (event.name === 'hello') {
          reporter.registered(event.data)
          onHello()
          onFault(undefined)
          this.#reported = undefined
          log.info({ version: this.#share.version }, 'following the control plane')
          continue
        }
        // What follows a faulty event of an update says nothing without it.
        if (event.name === 'begin') isSkipping = false
        if (isSkipping) continue
        let marked: MarkedUpdate | undefined
        try {
          marked = reader.take(event)
        } catch (error) {
          isSkipping = true
          this.#refuse((error as Error).message)
        }
        if (marked !== undefined) await this.#take(marked)
      }
    } finally {
      this.#stream = undefined
      stream.close()
    }
  }

  /** Twice a second: a connection may be dead without anybody having said so. */
  #listen(): void {
    if (this.#stream === undefined) return
    const now = performance.now()
    if (now - this.#heardAtMs > DEAD_AFTER_SILENCE_MS) return this.#stream.close()
    const quietSinceMs = Math.max(this.#heardAtMs, this.#askedAtMs)
    if (now - quietSinceMs > POLL_AFTER_SILENCE_MS && !this.#polling) void this.#poll()
  }

  /** Asks for what the stream should have brought. Never rejects. */
  async #poll(): Promise<void> {
    this.#polling = true
    this.#askedAtMs = performance.now()
    try {
      const update = await this.#options.client.poll(this.#from)
      if (update === null) this.#accept()
      else if (this.#refused === undefined || update.version !== this.#refused)
        await this.#take({ update, resync: null })
    } catch (error) {
      this.#options.log.debug({ reason: String(error) }, 'the control plane could not be polled')
    } finally {
      this.#polling = false
    }
  }

  /** Updates are applied one after the other. @throws Error when one builds on another version than is served */
  #take(marked: MarkedUpdate): Promise<void> {
    const done = this.#work.then(() => this.#apply(marked))
    this.#work = done.catch(() => {})
    return done
  }

  async #apply(marked: MarkedUpdate): Promise<void> {
    const { apply, reporter, log } = this.#options
    const { update, resync } = marked
    const invalid = updateFault(update)
    if (invalid !== undefined) return this.#refuse(invalid)
    if (update.version === this.#share.version && resync === null) return this.#accept()
    const next = applyUpdate(this.#share, update)
    if (versionOfContent(next) !== next.version) {
      return this.#refuse(`the content is not that of version ${next.version}`)
    }
    const fault = await apply(update)
    if (fault !== undefined) {
      this.#refused = update.version
      reporter.serves(this.#share.version, fault)
      return
    }
    this.#share = next
    this.#refused = undefined
    this.#recover()
    reporter.serves(next.version, null, resync)
    this.#wakeFirst()
    // the caller waits for the disk too: changes that come faster than it writes are held back at the control plane
    await this.#file
      .save(next, marked)
      .catch(error => log.error({ err: error }, 'the snapshot could not be kept on disk'))
  }

  /** The version that updates are to build on; '' asks for the whole snapshot, as what leads from the last one has been invalid. */
  get #from(): string {
    return this.#invalid === undefined ? this.#share.version : ''
  }

  /** What the control plane sent is not a valid update: the last good snapshot stays, in memory and on disk. */
  #refuse(reason: string): void {
    const { reporter, onFault, log } = this.#options
    const fault = `an update of the control plane is refused: ${reason}`
    onFault(fault)
    if (reason === this.#invalid) return
    this.#invalid = reason
    log.warn({ reason }, 'an update of the control plane is refused; serving the last snapshot')
    reporter.serves(this.#share.version, fault)
  }

  /** The control plane has nothing newer than what is served. */
  #accept(): void {
    if (this.#recover()) this.#options.reporter.serves(this.#share.version, null)
  }

  /** @returns whether the last update had been refused as invalid */
  #recover(): boolean {
    if (this.#invalid === undefined) return false
    this.#invalid = undefined
    this.#options.onFault(this.#reported === undefined ? undefined : followFault(this.#reported))
    return true
  }
}

function followFault(reason: string): string {
  return `the control plane cannot be followed: ${reason}`
}
