/**
 * Holds the current snapshot and why the newest document is not served; swaps the snapshot for a new document or policy, and notifies
 * listeners.
 */

import type { SnapshotDocument } from '../../link/document.ts'
import type { PreparedPolicy } from '../../policy/engine.ts'
import type { Snapshot } from './snapshot.ts'

/** Takes as many turns of the event loop as it needs; what it resolves with makes the snapshot at once, under the policy of that moment. */
type Compile = (document: SnapshotDocument) => Promise<() => Snapshot>

export class SnapshotHolder {
  #current: Snapshot | undefined
  #lastFault: string | undefined
  readonly #compile: Compile
  readonly #listeners: ((snapshot: Snapshot, previous: Snapshot | undefined) => void)[] = []

  constructor(compile: Compile) {
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

  /** Must not be called before the previous call has resolved. @returns why the document does not compile */
  async publish(document: SnapshotDocument): Promise<string | undefined> {
    if (document.version === this.#current?.version) {
      // a change that did not compile has been taken back
      this.#lastFault = undefined
      return undefined
    }
    let make: () => Snapshot
    try {
      make = await this.#compile(document)
    } catch (error) {
      this.#lastFault = error instanceof Error ? error.message : String(error)
      return this.#lastFault
    }
    this.#lastFault = undefined
    this.#serve(make(), this.#current)
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
