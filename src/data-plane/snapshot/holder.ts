/** Holds the current Snapshot and swaps it by one reference; after a document that does not compile, the last good one stays. It applies no change. */

import type { SnapshotDocument } from '../../link/document.ts'
import type { PreparedPolicy } from '../../shared/policy/engine.ts'
import type { Snapshot } from './snapshot.ts'

export class SnapshotHolder {
  #current: Snapshot | undefined
  #lastFault: string | undefined
  readonly #compile: (document: SnapshotDocument) => Snapshot
  readonly #listeners: ((snapshot: Snapshot, previous: Snapshot | undefined) => void)[] = []

  constructor(compile: (document: SnapshotDocument) => Snapshot) {
    this.#compile = compile
  }

  /** undefined until the first document is compiled; `/ready` returns 503 until then. */
  get current(): Snapshot | undefined {
    return this.#current
  }

  /** Why the newest document is not served; undefined when it is. */
  get lastFault(): string | undefined {
    return this.#lastFault
  }

  onSwap(listener: (snapshot: Snapshot, previous: Snapshot | undefined) => void): void {
    this.#listeners.push(listener)
  }

  /** @returns why the document does not compile */
  publish(document: SnapshotDocument): string | undefined {
    const previous = this.#current
    if (document.version === previous?.version) return undefined
    let next: Snapshot
    try {
      next = this.#compile(document)
    } catch (error) {
      this.#lastFault = error instanceof Error ? error.message : String(error)
      return this.#lastFault
    }
    this.#lastFault = undefined
    this.#serve(next, previous)
    return undefined
  }

  /** Serves the same document under another policy; routes, validators and requests stay as compiled. */
  adopt(policy: PreparedPolicy): void {
    const previous = this.#current
    if (previous === undefined) return
    // the cached listings were filtered by the previous policy
    this.#serve(Object.freeze({ ...previous, policy, listings: new Map() }), previous)
  }

  #serve(next: Snapshot, previous: Snapshot | undefined): void {
    this.#current = next
    for (const listener of this.#listeners) listener(next, previous)
  }
}
