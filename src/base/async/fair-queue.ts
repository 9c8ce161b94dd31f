/** A queue whose owners take turns, and the parts of an owner within its turns (round robin, J. Nagle, RFC 970). */
import type { Party } from '../fair-shares.ts'
import { getOrSet } from '../once-per.ts'
import { Chain, type Linked } from './chain.ts'

/** What waits. It carries its place in the queue. */
export interface Waiting extends Linked {
  readonly party: Party
}

export class FairQueue<T extends Waiting> {
  /** By owner and part, those whose turn is next first; without empty ones. */
  readonly #owners = new Map<string, Map<string, Chain<T>>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  append(item: T): void {
    const { owner, part } = item.party
    const parts = getOrSet(this.#owners, owner, () => new Map<string, Chain<T>>())
    getOrSet(parts, part, () => new Chain<T>()).append(item)
    this.#size++
  }

  /** @param item is in this queue */
  remove(item: T): void {
    const { owner, part } = item.party
    const parts = this.#owners.get(owner)!
    const chain = parts.get(part)!
    chain.remove(item)
    this.#size--
    if (chain.first !== undefined) return
    parts.delete(part)
    if (parts.size === 0) this.#owners.delete(owner)
  }

  /** Removes the next one that may be taken; parties that may not keep their turn. */
  take(mayTake: (item: T) => boolean): T | undefined {
    for (const [owner, parts] of this.#owners)
      for (const [part, chain] of parts) {
        const item = chain.first!
        if (!mayTake(item)) continue
        this.remove(item)
        // behind all others
        if (parts.delete(part)) parts.set(part, chain)
        if (this.#owners.delete(owner)) this.#owners.set(owner, parts)
        return item
      }
    return undefined
  }
}
