/** Counts attempts by the network of a client and refuses further ones above a limit, with separate buckets for client registrations. */
import { type Refusal, refuse } from '../../model/refusal.ts'
import { networkOf, trustOf } from '../../net/server/client-address.ts'
import type { HttpRequest } from '../../net/server/listener.ts'
import type { Kernel } from '../kernel/kernel.ts'
import type { Final } from '../pipeline/outcome.ts'
import type { Call } from './call.ts'

/** Buckets of the kernel, for as many networks with attempts. The rest of its 4,096 counts registrations. */
export const ATTEMPT_BUCKETS = 3072
const REGISTRATION_BUCKETS = 1024
/** For the limit of client registrations, which leave something behind at the identity provider. */
export const OF_REGISTRATIONS = { firstBucket: ATTEMPT_BUCKETS, bucketCount: REGISTRATION_BUCKETS } as const
const MINUTE_MS = 60_000
const LOOPBACK = ['127.0.0.0/8', '::1/128']

export interface AttemptLimitOptions {
  readonly buckets: Pick<Kernel, 'setBucketRate' | 'fillBucket' | 'takeTokens' | 'tokensLeft'>
  /** Attempts of an IPv4 address or IPv6 /64 per minute, and as a burst; 0 turns the limit off. */
  readonly perMinute: number
  readonly clientAddress: (request: HttpRequest) => string
  /** CIDRs of clients without limit, in addition to loopback addresses. */
  readonly trusted: readonly string[]
  readonly nowMs: () => number
  /** Hears of each request that is refused. */
  readonly onRefused?: (clientAddress: string) => void
  /** Which buckets are used; those of attempts when absent. */
  readonly range?: { readonly firstBucket: number; readonly bucketCount: number }
}

/** Each thread counts the attempts that it serves. */
export class AttemptLimit {
  readonly #options: AttemptLimitOptions
  readonly #isTrusted: (address: string) => boolean
  readonly #first: number
  readonly #count: number
  /** The bucket of each network, the one whose last attempt is the oldest first: another takes that bucket when all are taken. */
  readonly #slots = new Map<string, number>()
  /** From this time on every bucket holds a token, Unix ms. Until a bucket is emptied, `check` costs one comparison. */
  #anyEmptyUntilMs = 0
  /** Requests refused since the start. */
  refused = 0

  constructor(options: AttemptLimitOptions) {
    this.#options = options
    this.#isTrusted = trustOf([...options.trusted, ...LOOPBACK])
    const { buckets, perMinute, range } = options
    this.#first = range?.firstBucket ?? 0
    this.#count = range?.bucketCount ?? ATTEMPT_BUCKETS
    if (perMinute === 0) return
    const rate = { tokens: perMinute, periodMs: MINUTE_MS, burst: perMinute }
    for (let at = 0; at < this.#count; at++) buckets.setBucketRate(this.#first + at, rate)
  }

  /** @returns the refusal of a request whose client has used up its attempts */
  check(call: Call): Refusal | undefined {
    return call.receivedAtMs < this.#anyEmptyUntilMs ? this.#checkBucket(call) : undefined
  }

  /** Counts one attempt, unless there is none left. @returns the refusal then */
  take(call: Call): Refusal | undefined {
    const refusal = this.check(call)
    if (refusal === undefined) this.count(call)
    return refusal
  }

  /** Counts one attempt. */
  count(call: Call): void {
    const { buckets, perMinute, nowMs } = this.#options
    if (perMinute === 0) return
    const network = this.#networkOf(call)
    if (network === undefined) return
    const slot = this.#takeSlot(network)
    const now = nowMs()
    const waitMs = -buckets.takeTokens(slot, 1, now)
    if (waitMs > 0) this.#empty(now + waitMs)
    else if (buckets.tokensLeft(slot, now) === 0) this.#empty(now + Math.ceil(MINUTE_MS / perMinute))
  }

  /** Counts a call that ended with a failed login or named an unknown tool. */
  countFailure(call: Call, final: Final): void {
    if (final?.kind === 'refusal' && isAttempt(final)) this.count(call)
  }

  #checkBucket(call: Call): Refusal | undefined {
    const { buckets, clientAddress, nowMs, onRefused } = this.#options
    const network = this.#networkOf(call)
    const slot = network === undefined ? undefined : this.#slots.get(network)
    const now = nowMs()
    if (slot === undefined || buckets.tokensLeft(slot, now) > 0) return undefined
    this.refused++
    onRefused?.(clientAddress(call.request))
    const retryAfterSecs = Math.max(1, Math.ceil(-buckets.takeTokens(slot, 1, now) / 1000))
    return refuse('too_many_attempts', { retryAfterSecs })
  }

  #empty(untilMs: number): void {
    this.#anyEmptyUntilMs = Math.max(this.#anyEmptyUntilMs, untilMs)
  }

  /** undefined for an address without limit, and for one that is unknown because the client has disconnected. */
  #networkOf({ request }: Call): string | undefined {
    const address = this.#options.clientAddress(request)
    return address === '' || this.#isTrusted(address) ? undefined : networkOf(address)
  }

  #takeSlot(network: string): number {
    const slots = this.#slots
    const slot = slots.get(network) ?? this.#freeSlot()
    slots.delete(network)
    slots.set(network, slot)
    return slot
  }

  #freeSlot(): number {
    const { size } = this.#slots
    if (size < this.#count) return this.#first + size
    const [network, slot] = this.#slots.entries().next().value!
    this.#slots.delete(network)
    this.#options.buckets.fillBucket(slot)
    return slot
  }
}

/** Refusals that are a fault of this deployment, such as `keys_unavailable`, have other statuses. */
function isAttempt({ reason, row }: Refusal): boolean {
  return row.status === 401 || reason === 'tool_not_found'
}
