/** Runs asynchronous tasks one at a time, in the order in which they were queued. It does not cancel or retry a task. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Settles as the task does. A task that fails does not stop the tasks after it. */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => {})
    return result
  }

  /** Resolves when no task is left, including those queued meanwhile. Never rejects. */
  async drain(): Promise<void> {
    let last: Promise<unknown>
    do {
      last = this.#last
      await last
    } while (last !== this.#last)
  }
}
