/** Distributes policy bundles to the members of a process: a change is prepared in them, then activated or discarded. */
import { SerialQueue } from '../../base/async/serial-queue.ts'
import type { PolicyInput } from '../engine.ts'
import type { ActiveBundles, BundleChange } from './follower.ts'
import type { ShadowStatus } from './shadow.ts'

/** One plane that decides by the bundles. */
export interface Member {
  /** @throws Error that says why the bundle cannot be served there */
  prepare(change: BundleChange): Promise<void>
  /** In this thread it takes effect before it returns. */
  activate(): void | Promise<void>
  discard(): void
  /** Inputs of recent decisions. */
  recent(): readonly PolicyInput[] | Promise<readonly PolicyInput[]>
  shadow(): ShadowStatus | undefined | Promise<ShadowStatus | undefined>
}

/** What a member begins with. */
export interface Joined {
  readonly bundles: ActiveBundles
  readonly epoch: number
}

export class BundleDistribution {
  readonly #members = new Set<Member>()
  readonly #active = new Map<string, Uint8Array | null>()
  readonly #epoch: Int32Array
  readonly #changes = new SerialQueue()

  /** @param epoch shared with threads, which see there that a change is active before a message can say so */
  constructor(epoch: SharedArrayBuffer) {
    this.#epoch = new Int32Array(epoch)
  }

  get members(): readonly Member[] {
    return [...this.#members]
  }

  /** Active from the start, before the first member joins. */
  begin(slot: string, bundle: Uint8Array): void {
    this.#active.set(slot, bundle)
  }

  isActive(slot: string): boolean {
    return this.#active.has(slot)
  }

  /** Between two changes: the member misses none. */
  join(member: Member): Promise<Joined> {
    return this.#changes.run(async () => {
      this.#members.add(member)
      return { bundles: new Map(this.#active), epoch: this.#epoch[0]! }
    })
  }

  leave(member: Member): void {
    this.#members.delete(member)
  }

  /**
   * Resolves when the change is active everywhere.
   * @param activateHere what the caller itself swaps.
   * @throws Error of a member that could not prepare the change: then it is active nowhere
   */
  swap(change: BundleChange, activateHere: () => void): Promise<void> {
    return this.#changes.run(async () => {
      const prepared = await Promise.allSettled(this.members.map(member => member.prepare(change)))
      const failed = prepared.find(result => result.status === 'rejected')
      if (failed !== undefined) {
        for (const member of this.#members) member.discard()
        throw failed.reason
      }
      // from here on nothing can fail
      if (change.bundle === undefined) this.#active.delete(change.slot)
      else this.#active.set(change.slot, change.bundle)
      Atomics.add(this.#epoch, 0, 1)
      activateHere()
      await Promise.allSettled(this.members.map(async member => member.activate()))
    })
  }
}
