/** The policy of a plane and its candidate, made of bundles that it prepares and activates on request, and the slots of bundles. */
import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { Decision, PolicyInput, PreparedPolicy } from '../engine.ts'
import { LivePolicy, type LivePolicyOptions, loadBundle } from './live-policy.ts'
import { ShadowPolicy, type ShadowStatus } from './shadow.ts'
import { tighten } from './tightened.ts'

export const PLATFORM = 'platform'
export const CANDIDATE = 'candidate'
const TENANT = 'tenant '
export const slotOfTenant = (tenant: string): string => TENANT + tenant

/** One bundle and the place it takes. */
export interface BundleChange {
  readonly slot: string
  /** null: the tenant's bundle cannot be served; undefined: there is none any more. */
  readonly bundle: Uint8Array | null | undefined
}

/** By slot. */
export type ActiveBundles = ReadonlyMap<string, Uint8Array | null>

interface Prepared {
  activate(): void
  discard(): void
}

export class PolicyFollower {
  readonly #options: LivePolicyOptions
  readonly #tenants = new Map<string, LivePolicy | null>()
  readonly #listeners: ((policy: PreparedPolicy) => void)[] = []
  #platform!: LivePolicy
  #shadow: ShadowPolicy | undefined
  #prepared: Prepared | undefined
  readonly #preparations = new SerialQueue()
  #turn = 0
  #current!: PreparedPolicy

  private constructor(options: LivePolicyOptions) {
    this.#options = options
  }

  /** @throws Error when one of them cannot be prepared */
  static async open(bundles: ActiveBundles, options: LivePolicyOptions): Promise<PolicyFollower> {
    const follower = new PolicyFollower(options)
    follower.#platform = await LivePolicy.open(bundles.get(PLATFORM)!, options)
    follower.#compose()
    for (const [slot, bundle] of bundles) {
      if (slot === PLATFORM) continue
      await follower.prepare({ slot, bundle })
      follower.activate()
    }
    return follower
  }

  get current(): PreparedPolicy {
    return this.#current
  }

  get platform(): LivePolicy {
    return this.#platform
  }

  /** undefined without a candidate. */
  get shadow(): ShadowStatus | undefined {
    return this.#shadow?.status
  }

  observe(input: PolicyInput, decision: Decision): void {
    this.#shadow?.observe(input, decision)
  }

  onSwap(listener: (policy: PreparedPolicy) => void): void {
    this.#listeners.push(listener)
  }

  /** Replaces what was prepared before. @throws Error that says why the bundle cannot be served here */
  async prepare(change: BundleChange): Promise<void> {
    this.discard()
    const turn = ++this.#turn
    // one at a time: a change that was discarded while it was being prepared must not replace a later one
    const prepared = await this.#preparations.run(() => this.#ready(change))
    if (turn === this.#turn) this.#prepared = prepared
    else prepared.discard()
  }

  /** Swaps what is prepared, at once; nothing happens when nothing is. */
  activate(): void {
    const prepared = this.#prepared
    this.#prepared = undefined
    prepared?.activate()
  }

  discard(): void {
    this.#turn++
    this.#prepared?.discard()
    this.#prepared = undefined
  }

  async close(): Promise<void> {
    this.discard()
    this.#shadow?.close()
    await this.#platform.close()
    for (const tenant of this.#tenants.values()) await tenant?.close()
  }

  async #ready({ slot, bundle }: BundleChange): Promise<Prepared> {
    if (slot === CANDIDATE) return this.#readyCandidate(bundle ?? undefined)
    const name = slot === PLATFORM ? undefined : slot.slice(TENANT.length)
    const known = name === undefined ? this.#platform : (this.#tenants.get(name) ?? undefined)
    if (bundle === undefined || bundle === null) {
      const change = (): void => {
        if (bundle === null) this.#tenants.set(name!, null)
        else this.#tenants.delete(name!)
      }
      return this.#prepareSwap(
        change,
        () => {},
        () => known?.retire(),
      )
    }
    if (known !== undefined) {
      await known.prepare(bundle)
      return this.#prepareSwap(
        () => known.activate(),
        () => known.discard(),
      )
    }
    const opened = await LivePolicy.open(bundle, this.#options)
    return this.#prepareSwap(
      () => this.#tenants.set(name!, opened),
      () => void opened.close(),
    )
  }

  async #readyCandidate(bundle: Uint8Array | undefined): Promise<Prepared> {
    const next = bundle === undefined ? undefined : (await loadBundle(bundle, this.#options)).policy
    return {
      activate: () => {
        // a changed candidate is another one: earlier counts do not apply to it
        this.#shadow?.close()
        this.#shadow = next === undefined ? undefined : new ShadowPolicy(next)
      },
      discard: () => next?.close(),
    }
  }

  #prepareSwap(change: () => void, discard: () => void, after: () => void = () => {}): Prepared {
    const activate = (): void => {
      change()
      this.#compose()
      for (const listener of this.#listeners) listener(this.#current)
      after()
    }
    return { activate, discard }
  }

  #compose(): void {
    const tenants = new Map<string, PreparedPolicy | null>()
    for (const [name, live] of this.#tenants) tenants.set(name, live?.current.policy ?? null)
    this.#current = tighten(this.#platform.current.policy, tenants)
  }
}
