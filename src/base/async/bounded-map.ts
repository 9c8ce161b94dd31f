/** A map of at most `max` entries: when it is full, it evicts about half of them, those that were used least lately. */

export class BoundedMap<K, V> {
  readonly #half: number
  /** Entries that were set or read since the last time that it was full. */
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  /** @param max at least 2 */
  constructor(max: number) {
    this.#half = Math.floor(max / 2)
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  has(key: K): boolean {
    return this.#young.has(key) || this.#old.has(key)
  }

  get(key: K): V | undefined {
    const value = this.#young.get(key)
    if (value !== undefined) return value
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: K, value: V): void {
    if (this.#old.size > 0) this.#old.delete(key)
    if (this.#young.size >= this.#half && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: K): boolean {
    return this.#young.delete(key) || this.#old.delete(key)
  }

  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }

  *[Symbol.iterator](): IterableIterator<[K, V]> {
    yield* this.#old
    yield* this.#young
  }
}
