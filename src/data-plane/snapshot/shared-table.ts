/** An immutable table by key, and changed copies that share parts of it. */

import { visitSteps } from '../../base/async/slices.ts'

/** A power of two; at 100,000 keys a bucket holds a hundred. */
const BUCKETS = 1024

export class SharedTable<V> {
  readonly #buckets: readonly ReadonlyMap<string, V>[]

  private constructor(buckets: readonly ReadonlyMap<string, V>[]) {
    this.#buckets = buckets
  }

  static empty<V>(): SharedTable<V> {
    return new SharedTable<V>(Array.from({ length: BUCKETS }, () => new Map<string, V>()))
  }

  get(key: string): V | undefined {
    return this.#buckets[bucketOf(key)]!.get(key)
  }

  /** A table without `gone` and with `come`; this one stays as it is. What has gone is taken out first. It may be interrupted. */
  *changeSteps(
    gone: Iterable<string>,
    come: Iterable<readonly [string, V]>,
  ): Generator<void, SharedTable<V>> {
    const buckets = [...this.#buckets]
    const own = new Map<number, Map<string, V>>()
    const writable = (key: string): Map<string, V> => {
      const at = bucketOf(key)
      let bucket = own.get(at)
      if (bucket === undefined) {
        bucket = new Map(buckets[at])
        own.set(at, bucket)
        buckets[at] = bucket
      }
      return bucket
    }
    yield* visitSteps(gone, key => writable(key).delete(key))
    yield* visitSteps(come, ([key, value]) => writable(key).set(key, value))
    return own.size === 0 ? this : new SharedTable(buckets)
  }
}

/** The last characters of keys and ids are random, the first are not. */
function bucketOf(key: string): number {
  const end = key.length
  return (
    (key.charCodeAt(end - 1) * 37 + key.charCodeAt(end - 2) * 1009 + key.charCodeAt(end - 3) * 7) &
    (BUCKETS - 1)
  )
}
