/** Holds the current Snapshot and swaps it by one reference. A document that does not compile leaves the last good one serving. */
import type { Snapshot } from '../pipeline/exchange.ts'
import type { SnapshotDocument } from './document.ts'

export type Acknowledgement =
  | { readonly kind: 'ack'; readonly version: string }
  | { readonly kind: 'nack'; readonly version: string; readonly reason: string }

export class SnapshotHolder {
  #current: Snapshot | undefined
  #document: SnapshotDocument | undefined
  #lastFault: string | undefined
  readonly #compile: (document: SnapshotDocument) => Snapshot
  readonly #listeners: ((snapshot: Snapshot, previous: Snapshot | undefined) => void)[] = []

  constructor(compile: (document: SnapshotDocument) => Snapshot) {
    this.#compile = compile
  }

  /** undefined until the first document compiled (`/ready` answers 503 until then). */
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

  /** Compiles the same document anew, after a part it is compiled with (the policy) has changed. */
  recompile(): Acknowledgement | undefined {
    return this.#document === undefined ? undefined : this.#swap(this.#document)
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
    this.#document = document
    this.#current = next
    this.#lastFault = undefined
    for (const listener of this.#listeners) listener(next, previous)
    return { kind: 'ack', version: document.version }
  }
}
