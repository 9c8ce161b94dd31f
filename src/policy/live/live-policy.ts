/** The policy in force: loads and swaps bundles, and holds the status and the rules for explanations. */
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { unpack } from '../archive.ts'
import { BUNDLE_LIMITS, type BundleRule, readBundle } from '../bundle.ts'
import type { PreparedPolicy } from '../engine.ts'
import { type VerifyJws, verifySignatures } from '../signatures.ts'

/** One bundle made ready. */
export interface LoadedPolicy {
  readonly policy: PreparedPolicy
  readonly revision: string
  readonly bundle: Uint8Array
  readonly rules: readonly BundleRule[]
  /** Unix ms. */
  readonly since: number
}

export interface PolicyStatus {
  readonly revision: string
  /** Unix ms. */
  readonly since: number
  /** Why the newest bundle is not served; undefined when it is. */
  readonly fault: string | undefined
  readonly swaps: number
  /** Bundles; one that is tried several times in a row counts once. */
  readonly rejected: number
}

export interface LivePolicyOptions {
  readonly prepare: (bundle: Uint8Array) => Promise<PreparedPolicy>
  /** Tries a bundle where it can do no harm. @throws Error that says what is wrong with it. */
  readonly trial?: (bundle: Uint8Array) => Promise<void>
  /** The first bundle is tried as well; else only what would take its place. */
  readonly trialFirst?: boolean
  /** Runs `activate` once the bundle is prepared wherever else it decides, and activates it there. @throws Error: then it is active nowhere */
  readonly together?: (bundle: Uint8Array, activate: () => void) => Promise<void>
  /** Given: bundles must be signed. */
  readonly verify?: VerifyJws
  /** Calls that began with a policy end with it: time from a swap, or the removal of a bundle, until the old one is closed. Default 60 s. */
  readonly retireMs?: number
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void }
}

export type Offered = 'same' | 'swapped' | 'rejected'

/** Rules of revisions that served before, so that their decisions can still be explained. */
const KEPT_RULES = 16
const RETIRE_MS = 60_000

export class LivePolicy {
  readonly #options: LivePolicyOptions
  readonly #listeners: ((next: LoadedPolicy) => void)[] = []
  readonly #rules = new Map<string, readonly BundleRule[]>()
  readonly #retired = new Map<LoadedPolicy, NodeJS.Timeout>()
  #current: LoadedPolicy
  /** Prepared and not active yet. */
  #next: LoadedPolicy | undefined
  /** For the newest bundle. */
  #fault: string | undefined
  /** Why no bundle can be read. */
  #unread: string | undefined
  #refused: Uint8Array | undefined
  #swaps = 0
  #rejected = 0
  readonly #offers = new SerialQueue()
  #closed = false

  private constructor(options: LivePolicyOptions, first: LoadedPolicy) {
    this.#options = options
    this.#current = first
    this.#rules.set(first.revision, first.rules)
  }

  /** @throws Error when the first bundle cannot be served: then nothing can. */
  static async open(first: Uint8Array, options: LivePolicyOptions): Promise<LivePolicy> {
    const { trial, ...untried } = options
    return new LivePolicy(options, await loadBundle(first, options.trialFirst === true ? options : untried))
  }

  get current(): LoadedPolicy {
    return this.#current
  }

  get status(): PolicyStatus {
    const { revision, since } = this.#current
    return {
      revision,
      since,
      fault: this.#unread ?? this.#fault,
      swaps: this.#swaps,
      rejected: this.#rejected,
    }
  }

  /** Called after each swap, before any other call is decided. */
  onSwap(listener: (next: LoadedPolicy) => void): void {
    this.#listeners.push(listener)
  }

  /** Serves a bundle if it can be served; bundles wait in line. Never rejects. */
  offer(bundle: Uint8Array): Promise<Offered> {
    return this.#offers.run(() => this.#take(bundle))
  }

  /** The first half of `offer`, for a caller that swaps several at once. @throws Error that says why the bundle cannot be served */
  async prepare(bundle: Uint8Array): Promise<void> {
    const next = await loadBundle(bundle, this.#options)
    this.discard()
    this.#next = next
  }

  /** The second half: swaps what is prepared, at once. */
  activate(): void {
    const next = this.#next
    this.#next = undefined
    if (next !== undefined) this.#swap(next)
  }

  discard(): void {
    this.#next?.policy.close()
    this.#next = undefined
  }

  /** What serves goes on serving. @param reason why bundles cannot be read; undefined: they can again, also when none is new */
  unreadable(reason: string | undefined): void {
    if (reason !== undefined && reason !== this.#unread)
      this.#options.log.error(
        { reason },
        'the policy bundle cannot be read; the current policy stays in force',
      )
    this.#unread = reason
  }

  /** Rules with file and line as they were in a revision; of the current one when that revision was evicted. */
  rulesOf(revision: string): readonly BundleRule[] {
    return this.#rules.get(revision) ?? this.#current.rules
  }

  /** For a policy that none replaces: it is closed when the calls that began with it have ended. */
  retire(): void {
    setTimeout(() => void this.close(), this.#options.retireMs ?? RETIRE_MS).unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#offers.drain()
    for (const [old, timer] of this.#retired) {
      clearTimeout(timer)
      old.policy.close()
    }
    this.#retired.clear()
    this.discard()
    this.#current.policy.close()
  }

  async #take(bundle: Uint8Array): Promise<Offered> {
    if (this.#closed) return 'rejected'
    if (Buffer.compare(bundle, this.#current.bundle) === 0) {
      this.#fault = this.#unread = undefined
      return 'same'
    }
    try {
      await this.prepare(bundle)
      const activate = (): void => this.activate()
      if (this.#options.together === undefined) activate()
      else await this.#options.together(bundle, activate)
    } catch (error) {
      this.discard()
      // another attempt with the same bundle does not count again
      if (this.#refused === undefined || Buffer.compare(bundle, this.#refused) !== 0) this.#rejected++
      this.#refused = bundle
      this.#fault = (error as Error).message
      this.#options.log.error(
        { reason: this.#fault, serving: this.#current.revision },
        'the new policy bundle cannot be used; the current policy stays in force',
      )
      return 'rejected'
    }
    return 'swapped'
  }

  #swap(next: LoadedPolicy): void {
    const previous = this.#current
    this.#current = next
    this.#fault = this.#unread = this.#refused = undefined
    this.#swaps++
    this.#rules.delete(next.revision)
    this.#rules.set(next.revision, next.rules)
    for (const [revision] of this.#rules) {
      if (this.#rules.size <= KEPT_RULES) break
      this.#rules.delete(revision)
    }
    for (const listener of this.#listeners) listener(next)
    this.#options.log.info({ revision: next.revision, before: previous.revision }, 'a new policy is in force')
    const timer = setTimeout(() => {
      this.#retired.delete(previous)
      previous.policy.close()
    }, this.#options.retireMs ?? RETIRE_MS)
    timer.unref()
    this.#retired.set(previous, timer)
  }
}

/** Checks, tries and prepares a bundle. @throws Error that says why it cannot be served */
export async function loadBundle(
  bundle: Uint8Array,
  { prepare, trial, verify }: Pick<LivePolicyOptions, 'prepare' | 'trial' | 'verify'>,
): Promise<LoadedPolicy> {
  if (verify !== undefined) await verifyBundle(bundle, verify)
  const { rules } = readBundle(bundle)
  await trial?.(bundle)
  const policy = await prepare(bundle)
  return { policy, revision: policy.revision, bundle, rules, since: Date.now() }
}

async function verifyBundle(bundle: Uint8Array, verify: VerifyJws): Promise<void> {
  try {
    await verifySignatures(unpack(bundle, BUNDLE_LIMITS), verify)
  } catch (error) {
    throw new Error(`the policy bundle cannot be used: ${(error as Error).message}`)
  }
}
