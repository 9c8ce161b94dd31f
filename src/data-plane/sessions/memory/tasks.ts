/** Tasks of one process, in memory, bounded in number. They end with the process. */
import type { TaskCreation, TaskRecord, TaskStore } from '../task-store.ts'

/** Of all owners; one more is refused. */
const MAX_TASKS = 10_000

export class MemoryTaskStore implements TaskStore {
  readonly #now: () => number
  readonly #maxTasks: number
  /** By owner, then by id; both in the order of creation. */
  readonly #owners = new Map<string, Map<string, TaskRecord>>()
  #size = 0

  constructor(now: () => number, maxTasks = MAX_TASKS) {
    this.#now = now
    this.#maxTasks = maxTasks
  }

  create(task: TaskRecord, maxOfOwner: number): TaskCreation {
    this.#expire(task.owner)
    if (this.#size >= this.#maxTasks) this.sweep()
    const own = this.#owners.get(task.owner) ?? new Map<string, TaskRecord>()
    if (own.size >= maxOfOwner || this.#size >= this.#maxTasks) return 'too_many'
    this.#owners.set(task.owner, own)
    own.set(task.id, task)
    this.#size++
    return 'created'
  }

  get(owner: string, id: string): TaskRecord | undefined {
    this.#expire(owner)
    return this.#owners.get(owner)?.get(id)
  }

  put(task: TaskRecord): boolean {
    const own = this.#owners.get(task.owner)
    if (own?.has(task.id) !== true) return false
    own.set(task.id, task)
    return true
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
    for (const { id, createdAtMs, ttlMs } of own.values())
      if (createdAtMs + ttlMs <= nowMs && own.delete(id)) this.#size--
    if (own.size === 0) this.#owners.delete(owner)
  }
}
