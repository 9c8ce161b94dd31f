/** The configuration of one data plane: applies changes and serves the snapshot compiled from them. It keeps nothing on disk. */
import { SnapshotCompiler } from '../../../data-plane/snapshot/compile.ts'
import { SnapshotHolder } from '../../../data-plane/snapshot/holder.ts'
import type { Snapshot } from '../../../data-plane/snapshot/snapshot.ts'
import { prepareTool } from '../../../data-plane/tool-request/prepare-tool.ts'
import { applyChange, type SnapshotChange } from '../../../link/change.ts'
import { EMPTY_CONTENT, type SnapshotContent } from '../../../link/document.ts'
import type { PlanePolicy } from '../policy-served.ts'

export class ServedSnapshot {
  #content: SnapshotContent = EMPTY_CONTENT
  readonly #holder: SnapshotHolder

  constructor(policy: PlanePolicy) {
    const compiler = new SnapshotCompiler(prepareTool)
    this.#holder = new SnapshotHolder(document => compiler.compile(document, policy.current()))
    policy.onSwap(next => this.#holder.adopt(next))
  }

  get current(): Snapshot | undefined {
    return this.#holder.current
  }

  /** Why the newest change is not served; undefined when it is. */
  get fault(): string | undefined {
    return this.#holder.lastFault
  }

  onSwap(listener: (next: Snapshot, previous: Snapshot | undefined) => void): void {
    this.#holder.onSwap(listener)
  }

  /** @returns why the change was refused; the previous snapshot then stays */
  apply({ version, ...change }: SnapshotChange): string | undefined {
    let content: SnapshotContent
    try {
      content = applyChange(this.#content, change)
    } catch (error) {
      return (error as Error).message
    }
    const response = this.#holder.publish(Object.freeze({ ...content, version }))
    if (response.kind === 'nack') return response.reason
    this.#content = content
    return undefined
  }
}
