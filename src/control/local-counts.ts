/** Adds up what a gateway counted between two reports; it grows with the number of keys and subscriptions in use, not with requests. It sends nothing. */
import type { UsageCount } from '../store/repositories.ts'
import type { Report } from './fleet.ts'

export type LocalNews = Pick<Report, 'status' | 'usage' | 'keysUsed' | 'consumersSeen'>

export class Counts {
  #usage = new Map<string, UsageCount>()
  #keysUsed = new Map<string, LocalNews['keysUsed'][number]>()
  #consumersSeen = new Map<string, LocalNews['consumersSeen'][number]>()

  add(news: Omit<LocalNews, 'status'>): void {
    for (const count of news.usage) {
      const key = `${count.subscriptionId} ${count.day}`
      const before = this.#usage.get(key)
      this.#usage.set(key, before === undefined ? count : sum(before, count))
    }
    for (const use of news.keysUsed) this.#keysUsed.set(use.id, later(this.#keysUsed.get(use.id), use))
    for (const use of news.consumersSeen) {
      const key = `${use.tenantId} ${use.subject}`
      this.#consumersSeen.set(key, later(this.#consumersSeen.get(key), use))
    }
  }

  /** Gives everything away and begins anew. */
  take(): Counts {
    const taken = new Counts()
    taken.#usage = this.#usage
    taken.#keysUsed = this.#keysUsed
    taken.#consumersSeen = this.#consumersSeen
    this.#usage = new Map()
    this.#keysUsed = new Map()
    this.#consumersSeen = new Map()
    return taken
  }

  rows(): Omit<LocalNews, 'status'> {
    return {
      usage: [...this.#usage.values()],
      keysUsed: [...this.#keysUsed.values()],
      consumersSeen: [...this.#consumersSeen.values()],
    }
  }
}

function sum(a: UsageCount, b: UsageCount): UsageCount {
  return {
    ...a,
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    lastRequestAt: a.lastRequestAt > b.lastRequestAt ? a.lastRequestAt : b.lastRequestAt,
  }
}

function later<T extends { readonly at: Date }>(a: T | undefined, b: T): T {
  return a !== undefined && a.at > b.at ? a : b
}
