/** Tasks of a process in memory, with limits on their number and on long outcomes. */
import { MAX_SHORT_OUTCOME, type TaskCreation, type TaskRecord, type TaskStore } from '../task-store.ts'

/** For all owners; one more is refused. */
const MAX_TASKS = 10_000

/** UTF-16 code units of stored outcomes, up to 2 bytes each. */
interface OutcomeLimits {
  readonly all: number
  readonly ofOwner: number
}

const MAX_OUTCOMES: OutcomeLimits = { all: 64 * 1024 * 1024, ofOwner: 16 * 1024 * 1024 }

export class MemoryTaskStore implements TaskStore {
  readonly #now: () => number
  readonly #maxTasks: number
  /** By owner, then by id; both in the order of creation. */
  readonly #owners = new Map<string, Map<string, TaskRecord>>()
  readonly #maxOutcomes: OutcomeLimits
  #size = 0
  /** Code units of all outcomes. */
  #outcomes = 0

  constructor(now: () => number, maxTasks = MAX_TASKS, maxOutcomes = MAX_OUTCOMES) {
    this.#now = now
    this.#maxTasks = maxTasks
    this.#maxOutcomes = maxOutcomes
  }

  create(task: TaskRecord, maxOfOwner: number): TaskCreation {
    this.#expire(task.owner)
    if (this.#size >= this.#maxTasks) this.sweep()
    const own = this.#owners.get(task.owner) ?? new Map<string, TaskRecord>()
    if (own.size >= maxOfOwner || this.#size >= this.#maxTasks) return 'too_many'
    this.#owners.set(task.owner, own)
    own.set(task.id, task)
    this.#size++
    this.#outcomes += lengthOf(task)
    return 'created'
  }

  get(owner: string, id: string): TaskRecord | undefined {
    this.#expire(owner)
    return this.#owners.get(owner)?.get(id)
  }

  put(task: TaskRecord): boolean | 'full' {
    const own = this.#owners.get(task.owner)
    const before = own?.get(task.id)
    if (own === undefined || before === undefined) return false
    const grows = lengthOf(task) - lengthOf(before)
    if (lengthOf(task) > MAX_SHORT_OUTCOME && !this.#hasSpace(own, grows)) return 'full'
    own.set(task.id, task)
    this.#outcomes += grows
    return true
  }

  #hasSpace(own: ReadonlyMap<string, TaskRecord>, more: number): boolean {
    const { all, ofOwner } = this.#maxOutcomes
    if (this.#outcomes + more > all) this.sweep()
    let used = 0
    for (const task of own.values()) used += lengthOf(task)
    return this.#outcomes + more <= all && used + more <= ofOwner
  }

  list(owner: string): readonly TaskRecord[] {
    this.#expire(owner)
    return [...(this.#owners.get(owner)?.values() ?? [])].map(({ outcome: _, ...task }) => task)
  }

  /** Removes those whose time has passed. */
  sweep(): void {
    for (const owner of [...this.#owners.keys()]) this.#expire(owner)
  }

  #expire(owner: string): void {
    const own = this.#owners.get(owner)
    if (own === undefined) return
    const nowMs = this.#now()
    for (const task of own.values()) {
      if (task.createdAtMs + task.ttlMs > nowMs) continue
      own.delete(task.id)
      this.#size--
      this.#outcomes -= lengthOf(task)
    }
    if (own.size === 0) this.#owners.delete(owner)
  }
}

function lengthOf({ outcome }: TaskRecord): number {
  return outcome?.length ?? 0
}
