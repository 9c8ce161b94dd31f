/** Worker threads that count in the quotas of this process. */
import { once } from 'node:events'
import { join } from 'node:path'
import { type MessagePort, Worker } from 'node:worker_threads'
import { bundledScript } from '../../fixtures/bundled-script.ts'
import type { Joining, ThreadJob, ThreadOrder, ThreadReport } from './counting-thread.ts'

const SCRIPT = join(import.meta.dirname, 'counting-thread.ts')

export class CountingThread {
  readonly #worker: Worker

  private constructor(worker: Worker) {
    this.#worker = worker
  }

  /** Resolves when it has joined. */
  static async start(joining: Omit<Joining, 'port'>, port?: MessagePort): Promise<CountingThread> {
    const worker = new Worker(await bundledScript(SCRIPT), {
      workerData: port === undefined ? joining : { ...joining, port },
      transferList: port === undefined ? [] : [port],
      execArgv: [],
    })
    await once(worker, 'message')
    return new CountingThread(worker)
  }

  load(job: ThreadJob): Promise<ThreadReport> {
    return this.#ask({ load: job }) as Promise<ThreadReport>
  }

  /** Resolves when it calls without a pause; it then reacts to `terminate` alone. */
  async spin(job: Pick<ThreadJob, 'key' | 'limits'>): Promise<void> {
    await this.#ask({ spin: job })
  }

  reset(key: string): Promise<boolean> {
    return this.#ask({ reset: key }) as Promise<boolean>
  }

  /** @returns number of such orders it has received */
  clear(): Promise<number> {
    return this.#ask('clear') as Promise<number>
  }

  async close(): Promise<void> {
    const gone = once(this.#worker, 'exit')
    this.#worker.postMessage('close')
    await gone
  }

  /** Ends it without closing anything. */
  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }

  async #ask(order: ThreadOrder): Promise<unknown> {
    const response = once(this.#worker, 'message')
    this.#worker.postMessage(order)
    return (await response)[0]
  }
}
