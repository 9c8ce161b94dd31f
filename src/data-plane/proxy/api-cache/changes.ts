/** Notes changes at addresses of APIs, and says whether an address may have changed since a request began. */

import { hashText } from '../../http/hash-text.ts'
import type { CompiledApi } from '../../snapshot/snapshot.ts'

/** Addresses that share a slot count as changed together: a response more than necessary is not kept. */
const SLOTS = 4096

export class Changes {
  /** Number of the last change of the addresses of each slot. */
  readonly #last = new Float64Array(SLOTS)
  #count = 0
  #all = 0

  /** The number of changes so far, to be taken before the upstream is asked. */
  get count(): number {
    return this.#count
  }

  add(api: CompiledApi, key: string): void {
    this.#last[slotOf(api, key)] = ++this.#count
  }

  /** Every address counts as changed. */
  addAll(): void {
    this.#all = ++this.#count
  }

  /** @param count as it was when the upstream was asked */
  hasChanged(api: CompiledApi, key: string, count: number): boolean {
    return this.#all > count || this.#last[slotOf(api, key)]! > count
  }
}

function slotOf({ index }: CompiledApi, key: string): number {
  return hashText(key, index) & (SLOTS - 1)
}
