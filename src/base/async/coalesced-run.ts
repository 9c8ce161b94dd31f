/** Work that runs once at a time; requests during a run are joined. It does not cancel a run. */

export class CoalescedRun {
  readonly #work: () => Promise<void>
  #running: Promise<void> | undefined
  #isRequested = false
  #isStopped = false

  /** @param work never rejects */
  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  request(): void {
    if (this.#isStopped) return
    this.#isRequested = true
    this.#running ??= this.#run()
  }

  /** Ignores further requests, and resolves when the last run has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (this.#isRequested && !this.#isStopped) {
      this.#isRequested = false
      await this.#work()
    }
    // in the same step as the last look at the flag: a request in between would be lost
    this.#running = undefined
  }
}
