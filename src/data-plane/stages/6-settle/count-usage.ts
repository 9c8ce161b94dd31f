/** Counts the use of subscriptions, and records when keys and consumers were seen, for the control plane. */
import type { Principal } from '../../../model/principal.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { entitlementOf } from '../shared/entitlement.ts'
import { statusOf } from './record-metrics.ts'

interface SubscriptionUse {
  readonly subscriptionId: string
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string
  requests: number
  errors: number
  lastRequestAt: Date
}

export interface UsageDelta {
  readonly usage: readonly SubscriptionUse[]
  readonly keysUsed: readonly { readonly id: string; readonly at: Date }[]
  readonly consumersSeen: readonly { readonly tenant: string; readonly subject: string; readonly at: Date }[]
}

/** Entries of each kind that are kept between two collections; further ones are not counted. */
const MAX_ENTRIES = 100_000

const MS_PER_DAY = 86_400_000

/** What a credential has left behind since the last collection: found by its principal, because a call should build no text. */
interface Seen {
  readonly consumer: { readonly tenant: string; readonly subject: string; readonly at: Date } | undefined
  readonly keyUsedAt: Date | undefined
}

export class UsageCounter {
  readonly #subscriptions: boolean
  #usage = new Map<string, SubscriptionUse>()
  #keysUsed = new Map<string, Date>()
  #consumersSeen = new Map<string, { readonly tenant: string; readonly subject: string; readonly at: Date }>()
  #seen = new WeakMap<Principal, Seen>()
  /** The part of `#usage` that belongs to one day, by subscription. */
  #ofDay = new Map<string, SubscriptionUse>()
  #dayNumber = -1

  /** @param subscriptions false: the control plane counts their use from metering events, and would count it twice */
  constructor(subscriptions = true) {
    this.#subscriptions = subscriptions
  }

  /** What has happened since the last time; it is not given twice. */
  take(): UsageDelta {
    const delta = {
      usage: [...this.#usage.values()],
      keysUsed: [...this.#keysUsed].map(([id, at]) => ({ id, at })),
      consumersSeen: [...this.#consumersSeen.values()],
    }
    this.#usage = new Map()
    this.#keysUsed = new Map()
    this.#consumersSeen = new Map()
    this.#seen = new WeakMap()
    this.#ofDay = new Map()
    return delta
  }

  /** Takes over what another counter has counted, of another thread for one. */
  add({ usage, keysUsed, consumersSeen }: UsageDelta): void {
    for (const use of usage) {
      const key = `${use.subscriptionId} ${use.day}`
      const known = this.#usage.get(key)
      if (known === undefined) {
        if (this.#usage.size < MAX_ENTRIES)
          this.#usage.set(key, { ...use, lastRequestAt: new Date(use.lastRequestAt) })
        continue
      }
      known.requests += use.requests
      known.errors += use.errors
      later(known.lastRequestAt, use.lastRequestAt)
    }
    for (const { id, at } of keysUsed)
      later(
        entryOf(this.#keysUsed, id, () => new Date(at)),
        at,
      )
    for (const seen of consumersSeen) {
      const { tenant, subject, at } = seen
      const makeEvent = () => ({ tenant, subject, at: new Date(at) })
      later(entryOf(this.#consumersSeen, `${tenant}/${subject}`, makeEvent)?.at, at)
    }
  }

  readonly stage: Stage = {
    id: 'count-usage',
    phase: 'settle',
    run: exchange => {
      const { principal, operation } = exchange
      if (principal === undefined || (!isCall(operation) && operation.action !== 'proxy')) return undefined
      const nowMs = exchange.receivedAtMs
      const { consumer, keyUsedAt } = this.#seen.get(principal) ?? this.#see(principal, nowMs)
      consumer?.at.setTime(nowMs)
      keyUsedAt?.setTime(nowMs)
      if (!this.#subscriptions) return undefined
      const { subscriptionId } = entitlementOf(exchange, principal)
      if (subscriptionId !== undefined && exchange.quota !== undefined)
        this.#count(subscriptionId, nowMs, statusOf(exchange) >= 400)
      return undefined
    },
  }

  #see(principal: Principal, nowMs: number): Seen {
    const { tenant, consumer: subject } = principal
    const seen = {
      consumer:
        tenant === undefined
          ? undefined
          : entryOf(this.#consumersSeen, `${tenant}/${subject}`, () => ({
              tenant,
              subject,
              at: new Date(nowMs),
            })),
      keyUsedAt:
        principal.kind === 'api_key'
          ? entryOf(this.#keysUsed, principal.subject, () => new Date(nowMs))
          : undefined,
    }
    this.#seen.set(principal, seen)
    return seen
  }

  #count(subscriptionId: string, nowMs: number, failed: boolean): void {
    const dayNumber = Math.floor(nowMs / MS_PER_DAY)
    if (dayNumber !== this.#dayNumber) {
      this.#dayNumber = dayNumber
      this.#ofDay = new Map()
    }
    const use = this.#ofDay.get(subscriptionId) ?? this.#useOf(subscriptionId, nowMs)
    if (use === undefined) return
    use.requests++
    if (failed) use.errors++
    use.lastRequestAt.setTime(nowMs)
  }

  #useOf(subscriptionId: string, nowMs: number): SubscriptionUse | undefined {
    const lastRequestAt = new Date(nowMs)
    const day = lastRequestAt.toISOString().slice(0, 10)
    const use = entryOf(this.#usage, `${subscriptionId} ${day}`, () => ({
      subscriptionId,
      day,
      requests: 0,
      errors: 0,
      lastRequestAt,
    }))
    if (use !== undefined) this.#ofDay.set(subscriptionId, use)
    return use
  }
}

/** The existing entry, or a new one below the limit. */
function entryOf<T>(entries: Map<string, T>, key: string, make: () => T): T | undefined {
  const known = entries.get(key)
  if (known !== undefined || entries.size >= MAX_ENTRIES) return known
  const made = make()
  entries.set(key, made)
  return made
}

/** Moves a date on, never back. */
function later(date: Date | undefined, to: Date): void {
  if (date !== undefined && to > date) date.setTime(to.getTime())
}
