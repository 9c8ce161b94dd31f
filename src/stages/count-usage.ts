/** Adds up what the control plane wants to know of each call: use of subscriptions and keys, consumers seen. It sends nothing. */
import type { Stage } from '../pipeline/stage.ts'
import { statusOf } from './record-metrics.ts'
import { entitlementOf } from './take-quota.ts'

export interface SubscriptionUse {
  readonly subscriptionId: string
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string
  requests: number
  errors: number
  lastRequestAt: Date
}

export interface UsageNews {
  readonly usage: readonly SubscriptionUse[]
  readonly keysUsed: readonly { readonly id: string; readonly at: Date }[]
  readonly consumersSeen: readonly { readonly tenant: string; readonly subject: string; readonly at: Date }[]
}

/** Consumers remembered between two collections; more are not told of until the next. */
const MAX_ENTRIES = 100_000

export class UsageCounter {
  readonly #subscriptions: boolean
  #usage = new Map<string, SubscriptionUse>()
  #keysUsed = new Map<string, Date>()
  #consumersSeen = new Map<string, { readonly tenant: string; readonly subject: string; readonly at: Date }>()

  /** @param subscriptions false: the control plane counts their use from metering events, and would count it twice */
  constructor(subscriptions = true) {
    this.#subscriptions = subscriptions
  }

  /** What has happened since the last time; it is not given twice. */
  take(): UsageNews {
    const news = {
      usage: [...this.#usage.values()],
      keysUsed: [...this.#keysUsed].map(([id, at]) => ({ id, at })),
      consumersSeen: [...this.#consumersSeen.values()],
    }
    this.#usage = new Map()
    this.#keysUsed = new Map()
    this.#consumersSeen = new Map()
    return news
  }

  /** Takes over what another counter has counted, of another thread for one. */
  add({ usage, keysUsed, consumersSeen }: UsageNews): void {
    for (const use of usage) {
      const key = `${use.subscriptionId} ${use.day}`
      const known = this.#usage.get(key)
      if (known === undefined) {
        if (this.#usage.size < MAX_ENTRIES) this.#usage.set(key, { ...use })
        continue
      }
      known.requests += use.requests
      known.errors += use.errors
      if (use.lastRequestAt > known.lastRequestAt) known.lastRequestAt = use.lastRequestAt
    }
    for (const { id, at } of keysUsed) if (this.#keysUsed.size < MAX_ENTRIES) this.#keysUsed.set(id, at)
    for (const seen of consumersSeen)
      if (this.#consumersSeen.size < MAX_ENTRIES)
        this.#consumersSeen.set(`${seen.tenant}/${seen.subject}`, seen)
  }

  readonly stage: Stage = {
    id: 'count-usage',
    phase: 'settle',
    run: exchange => {
      const { principal, operation } = exchange
      if (principal === undefined || (operation.action !== 'tools.call' && operation.action !== 'proxy'))
        return undefined
      const at = new Date(exchange.receivedAtMs)
      if (principal.kind === 'api_key' && this.#keysUsed.size < MAX_ENTRIES)
        this.#keysUsed.set(principal.subject, at)
      if (principal.tenant !== undefined && this.#consumersSeen.size < MAX_ENTRIES) {
        this.#consumersSeen.set(`${principal.tenant}/${principal.consumer}`, {
          tenant: principal.tenant,
          subject: principal.consumer,
          at,
        })
      }
      if (!this.#subscriptions) return undefined
      const { subscriptionId } = entitlementOf(exchange, principal)
      if (subscriptionId !== undefined && exchange.quota !== undefined)
        this.#count(subscriptionId, at, statusOf(exchange) >= 400)
      return undefined
    },
  }

  #count(subscriptionId: string, at: Date, failed: boolean): void {
    const day = at.toISOString().slice(0, 10)
    const key = `${subscriptionId} ${day}`
    const use = this.#usage.get(key)
    if (use === undefined) {
      if (this.#usage.size < MAX_ENTRIES)
        this.#usage.set(key, { subscriptionId, day, requests: 1, errors: failed ? 1 : 0, lastRequestAt: at })
      return
    }
    use.requests++
    if (failed) use.errors++
    use.lastRequestAt = at
  }
}
