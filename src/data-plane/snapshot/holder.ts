/** Holds the current Snapshot and swaps it by one reference. A document that does not compile leaves the last good one serving. */

import type { SnapshotDocument } from '../../link/document.ts'
import type { PreparedPolicy } from '../../shared/policy/engine.ts'
import type { Snapshot } from './snapshot.ts'

type Acknowledgement =
  | { readonly kind: 'ack'; readonly version: string }
  | { readonly kind: 'nack'; readonly version: string; readonly reason: string }

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

  /** Why the newest document is not the one being served; undefined when it is. */
  get lastFault(): string | undefined {
    return this.#lastFault
  }

  onSwap(listener: (snapshot: Snapshot, previous: Snapshot | undefined) => void): void {
    this.#listeners.push(listener)
  }

  publish(document: SnapshotDocument): Acknowledgement {
    if (document.version === this.#current?.version) return { kind: 'ack', version: document.version }
    return this.#swap(document)
  }

  /** Serves the same document under another policy: routes, validators and requests stay as they were compiled. */
  adopt(policy: PreparedPolicy): void {
    const previous = this.#current
    if (previous === undefined) return
    // what was listed was listed by the other policy
    this.#serve(Object.freeze({ ...previous, policy, listings: new Map() }), previous)
  }

  #swap(document: SnapshotDocument): Acknowledgement {
    const previous = this.#current
    let next: Snapshot
    try {
      next = this.#compile(document)
    } catch (error) {
      this.#lastFault = error instanceof Error ? error.message : String(error)
      return { kind: 'nack', version: document.version, reason: this.#lastFault }
    }
    this.#lastFault = undefined
    this.#serve(next, previous)
    return { kind: 'ack', version: document.version }
  }

  #serve(next: Snapshot, previous: Snapshot | undefined): void {
    this.#current = next
    for (const listener of this.#listeners) listener(next, previous)
  }
}
