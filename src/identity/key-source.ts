/** Holds the keys of an identity provider: loads and refreshes them, and reports failures and removed keys. */
import { Backoff } from '../base/async/backoff.ts'
import type { Log } from '../telemetry/log.ts'
import { discoverEndpoints } from './discovery.ts'
import type { FetchJson } from './fetch-json.ts'
import { importKeySet, type KeySet } from './key-set.ts'

export interface KeySourceOptions {
  readonly issuer: string
  /** Found through the issuer's discovery document when absent. */
  readonly jwksUri?: string
  readonly fetchJson: FetchJson
  readonly log: Log
  /** 5 minutes: keys older than this, or than the provider's `Cache-Control` permits, are refreshed in the background; they serve meanwhile. */
  readonly refreshMs?: number
  /** 30 s: no second fetch for an unknown `kid`, or a signature that is not valid, within this time. */
  readonly cooldownMs?: number
  /** 250 ms, doubled up to 1 s: pause before another try after a failure, in the background. */
  readonly firstRetryMs?: number
  /** Called with the reason when the keys cannot be fetched, once for each outage, and with undefined when they can again. */
  readonly onFault?: (reason: string | undefined) => void
  /** Called when a key has disappeared: what it signed must not be trusted any longer. */
  readonly onKeyRemoved: () => void
}

/** Within 3 s of its return the provider is used again, time-out of an attempt included. */
const MAX_RETRY_MS = 1_000
const JITTER = 0.5
/** Many providers forbid any caching of their keys. */
const MIN_REFRESH_MS = 30_000

export class KeySource {
  readonly #options: KeySourceOptions
  readonly #maxRefreshMs: number
  /** Until the next refresh. */
  #refreshMs: number
  readonly #cooldownMs: number
  #keys: KeySet | undefined
  #jwksUri: string | undefined
  #tokenEndpoint: string | undefined
  #loading: Promise<boolean> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #backoff: Backoff
  /** Monotonic ms of the last fetch for an unknown or replaced key, and of the last failure. */
  #askedAt = Number.NEGATIVE_INFINITY
  #failedAt = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(options: KeySourceOptions) {
    this.#options = options
    this.#maxRefreshMs = options.refreshMs ?? 300_000
    this.#refreshMs = this.#maxRefreshMs
    this.#cooldownMs = options.cooldownMs ?? 30_000
    const { firstRetryMs: firstMs = 250 } = options
    this.#backoff = new Backoff({ firstMs, maxMs: MAX_RETRY_MS, jitter: JITTER })
    this.#jwksUri = options.jwksUri
  }

  /** The keys as last loaded, however old. */
  get keys(): KeySet | undefined {
    return this.#keys
  }

  /** For the discovery document that was read last; undefined: none was read, or it has none. */
  get tokenEndpoint(): string | undefined {
    return this.#tokenEndpoint
  }

  /** True while the last fetch failed: an unknown key may then be a new one. */
  get unreachable(): boolean {
    return this.#failedAt > Number.NEGATIVE_INFINITY
  }

  /** Begins loading; tries again until keys are there, then keeps them fresh. */
  start(): void {
    if (this.#timer === undefined && !this.#closed) void this.#load()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  /** Whether asking the provider again makes sense now: once per cool-down, and a running fetch is shared. */
  get mayAsk(): boolean {
    if (this.#loading !== undefined) return true
    const now = performance.now()
    return (
      !this.#closed && now - this.#askedAt >= this.#cooldownMs && now - this.#failedAt >= this.#cooldownMs
    )
  }

  /** Fetches because a key is not known, or may have been replaced. Resolves to whether the fetch succeeded; never rejects. */
  ask(): Promise<boolean> {
    // without keys, none has been found to be unknown yet
    if (this.#keys !== undefined) this.#askedAt = performance.now()
    return this.#load()
  }

  #load(): Promise<boolean> {
    this.#loading ??= this.#fetch()
      .catch(() => false)
      .then(loaded => {
        this.#loading = undefined
        if (loaded && this.unreachable) this.#options.onFault?.(undefined)
        this.#failedAt = loaded ? Number.NEGATIVE_INFINITY : performance.now()
        // a fetch that failed has not shown that the provider lacks the key
        if (!loaded) this.#askedAt = Number.NEGATIVE_INFINITY
        this.#schedule(loaded)
        return loaded
      })
    return this.#loading
  }

  #schedule(loaded: boolean): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    if (loaded) this.#backoff.reset()
    const waitMs = loaded ? this.#refreshMs : this.#backoff.nextMs()
    this.#timer = setTimeout(() => void this.#load(), waitMs)
    this.#timer.unref()
  }

  async #fetch(): Promise<boolean> {
    const { issuer, fetchJson, log } = this.#options
    if (this.#jwksUri === undefined) {
      const found = await discoverEndpoints(issuer, fetchJson)
      if (!found.ok) return this.#noteFailure(found.reason)
      this.#jwksUri = found.jwksUri
      this.#tokenEndpoint = found.tokenEndpoint
    }
    const fetched = await fetchJson(this.#jwksUri)
    if (!fetched.ok) {
      // A provider that moved its keys says so in its discovery document.
      this.#jwksUri = this.#options.jwksUri
      return this.#noteFailure(fetched.reason)
    }
    const keys = await importKeySet(fetched.json, (kid, reason) =>
      log.warn({ issuer, kid, reason }, 'a key of the identity provider is ignored'),
    )
    if (keys === undefined) return this.#noteFailure('the key set contains no key that can be used')
    const { maxAgeSecs = Number.POSITIVE_INFINITY } = fetched
    this.#refreshMs = Math.min(this.#maxRefreshMs, Math.max(MIN_REFRESH_MS, maxAgeSecs * 1000))
    const removed = this.#keys !== undefined && !this.#keys.isWithin(keys)
    this.#keys = keys
    if (removed) this.#options.onKeyRemoved()
    return true
  }

  #noteFailure(reason: string): false {
    const { issuer, log, onFault } = this.#options
    if (!this.unreachable) {
      log.warn(
        { issuer, reason, stale: this.#keys !== undefined },
        'the signing keys of the identity provider could not be fetched',
      )
      onFault?.(`the signing keys of the identity provider cannot be fetched: ${reason}`)
    }
    return false
  }
}
