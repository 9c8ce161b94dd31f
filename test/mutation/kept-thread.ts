/** A pool for Vitest that keeps its thread, with all modules loaded, from one mutant to the next. */
import { type PoolOptions, ThreadsPoolWorker, type WorkerRequest } from 'vitest/node'

/** What the tests of a mutant leave behind, such as timers, ends with the thread after so many runs. */
const MAX_RUNS = 40

class KeptThread extends ThreadsPoolWorker {
  readonly #listeners: [string, (arg: unknown) => void][] = []
  #runs = 0

  override on(event: string, listener: (arg: unknown) => void): void {
    this.#listeners.push([event, listener])
    super.on(event, listener)
  }

  /** Vitest ends the worker after each run: the request is confirmed here and does not reach the thread. */
  override send(message: WorkerRequest): void {
    if (message.type !== 'stop') return super.send(message)
    for (const [event, listener] of [...this.#listeners])
      if (event === 'message') listener({ type: 'stopped', __vitest_worker_response__: true })
  }

  override async stop(): Promise<void> {
    for (const [event, listener] of this.#listeners.splice(0)) super.off(event, listener)
    this.#runs++
    if (this.#runs >= MAX_RUNS) await this.end()
  }

  async end(): Promise<void> {
    kept = undefined
    await super.stop()
  }
}

let kept: KeptThread | undefined

/** One thread at a time for all runs: right only with one worker and without isolation. */
export const keptThread = {
  name: 'kept-thread',
  createPoolWorker: (options: PoolOptions) => (kept ??= new KeptThread(options)),
  close: () => kept?.end(),
}
