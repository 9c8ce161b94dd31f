/** Keeps actions of administrators on disk until the control plane has confirmed them. */

import { SerialQueue } from '../../base/async/serial-queue.ts'
import { readLines, replaceLines } from '../../base/fs/checked-lines.ts'
import type { OnDamage } from '../../base/fs/damage.ts'
import type { AdminAction } from '../../link/report.ts'

/** A gateway cut off for weeks refuses further actions rather than run them unrecorded. */
const MAX_PENDING = 10_000

export class AdminActions {
  readonly #path: string
  readonly #onDamage: OnDamage
  readonly #writes = new SerialQueue()
  #pending: readonly AdminAction[] = []
  #onAdded = (): void => {}

  constructor(path: string, onDamage: OnDamage) {
    this.#path = path
    this.#onDamage = onDamage
  }

  /** A damaged file is reported; the actions before the damage are kept. @throws Error of the file system */
  async load(): Promise<void> {
    const { lines, fault } = await readLines(this.#path)
    if (fault !== undefined)
      this.#onDamage(this.#path, 'some actions of administrators are missing from the audit')
    this.#pending = lines.flatMap(line => {
      const action = JSON.parse(line) as AdminAction | null
      return action === null ? [] : [{ ...action, at: new Date(action.at) }]
    })
  }

  /** Resolves when the action is on disk. @throws Error of the file system, or when too many are pending */
  async add(action: AdminAction): Promise<void> {
    await this.#writes.run(async () => {
      if (this.#pending.length >= MAX_PENDING)
        throw new Error(
          'too many administrator actions are pending, because the control plane has not recorded them in its audit. Check the connection to the control plane',
        )
      await this.#replace([...this.#pending, action])
    })
    this.#onAdded()
  }

  pending(limit: number): readonly AdminAction[] {
    return this.#pending.slice(0, limit)
  }

  async confirm(taken: readonly AdminAction[]): Promise<void> {
    if (taken.length === 0) return
    const ids = new Set(taken.map(({ id }) => id))
    await this.#writes.run(() => this.#replace(this.#pending.filter(({ id }) => !ids.has(id))))
  }

  onAdded(listener: () => void): void {
    this.#onAdded = listener
  }

  async #replace(actions: readonly AdminAction[]): Promise<void> {
    // a file without a line counts as damaged
    await replaceLines(
      this.#path,
      actions.length === 0 ? ['null'] : actions.map(action => JSON.stringify(action)),
    )
    this.#pending = actions
  }
}
