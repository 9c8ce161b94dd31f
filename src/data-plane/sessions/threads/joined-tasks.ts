/** The task store for a thread that has none: requests over a port, and the function that serves them in the owner thread. */
import type { PortLine } from '../../../base/threads/port-line.ts'
import type { TaskCreation, TaskRecord, TaskStore } from '../task-store.ts'

export class JoinedTaskStore implements TaskStore {
  readonly #line: PortLine

  /** @param line its other end is served by `serveTasks` */
  constructor(line: PortLine) {
    this.#line = line
  }

  create(task: TaskRecord, maxOfOwner: number): Promise<TaskCreation> {
    return this.#line.ask<TaskCreation>('task.create', task, maxOfOwner)
  }

  get(owner: string, id: string): Promise<TaskRecord | 'unavailable' | undefined> {
    return this.#line.ask<TaskRecord | 'unavailable' | undefined>('task.get', owner, id)
  }

  put(task: TaskRecord): Promise<boolean | 'full'> {
    return this.#line.ask<boolean | 'full'>('task.put', task)
  }

  list(owner: string): Promise<readonly TaskRecord[] | 'unavailable'> {
    return this.#line.ask<readonly TaskRecord[] | 'unavailable'>('task.list', owner)
  }
}

export function serveTasks(line: PortLine, store: TaskStore): void {
  line.serve({
    'task.create': (task: TaskRecord, maxOfOwner: number) => store.create(task, maxOfOwner),
    'task.get': (owner: string, id: string) => store.get(owner, id),
    'task.put': (task: TaskRecord) => store.put(task),
    'task.list': (owner: string) => store.list(owner),
  })
}
