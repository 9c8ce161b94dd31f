/** Runs jobs in a worker thread, one at a time in turns of their owners, with limits on time and memory, and ends the thread when it is idle. */
import { readdirSync, readFileSync } from 'node:fs'
import type { ResourceLimits, Transferable, Worker } from 'node:worker_threads'
import type { Linked } from '../async/chain.ts'
import { FairQueue } from '../async/fair-queue.ts'
import type { Party } from '../fair-shares.ts'
import { startThread } from './start-thread.ts'

/** What a job does with the messages of its worker. */
export interface WorkerJob<Message, Result> {
  readonly message: unknown
  readonly transfer?: readonly Transferable[]
  readonly timeoutMs: number
  /** @returns the result once the worker is done; until then messages may be posted and the time-out restarted */
  receive(message: Message, running: RunningJob): Result | undefined
  /** The result of a job whose worker is ended: it threw, exited (`exit`) or took too long (`timeout`). */
  fail(reason: Error | 'exit' | 'timeout'): Result
  /** Called before the result is returned, with the time that the job used of the thread; not for the job that started it. */
  charge?(usedMs: number): void
}

export interface RunningJob {
  post(message: unknown): void
  restartTimeout(timeoutMs: number): void
}

/** A job that waits for its turn. */
class Turn implements Linked {
  previous: Linked | undefined
  next: Linked | undefined
  readonly party: Party
  readonly begin: () => Promise<void>

  constructor(owner: string, begin: () => Promise<void>) {
    this.party = { owner, part: '' }
    this.begin = begin
  }
}

export class JobWorker {
  readonly #file: URL
  readonly #resourceLimits: ResourceLimits
  readonly #idleMs: number
  readonly #queue = new FairQueue<Turn>()
  #working: Promise<void> | undefined
  #worker: Worker | undefined
  #idle: NodeJS.Timeout | undefined
  /** The system's number of the thread. */
  #threadId: string | undefined

  /** @param idleMs after which an idle worker ends */
  constructor(file: URL, resourceLimits: ResourceLimits, idleMs: number) {
    this.#file = file
    this.#resourceLimits = resourceLimits
    this.#idleMs = idleMs
  }

  /**
   * Never rejects, unless the job throws.
   * @param owner who takes turns with other owners
   * @param handleTurn called when the turn has come; another worker that it returns runs the job, in its turn there
   */
  run<Message, Result>(
    job: WorkerJob<Message, Result>,
    owner: string,
    handleTurn?: () => JobWorker | undefined,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        const other = handleTurn?.()
        if (other === undefined) await this.#run(job).then(resolve, reject)
        else void other.run(job, owner, handleTurn).then(resolve, reject)
      }
      this.#queue.append(new Turn(owner, begin))
      this.#working ??= this.#work()
    })
  }

  async #work(): Promise<void> {
    for (let turn = this.#queue.take(all); turn !== undefined; turn = this.#queue.take(all))
      await turn.begin()
    this.#working = undefined
  }

  /** Starts the worker before its first job. */
  prepare(): void {
    if (this.#worker !== undefined) return
    this.#worker = this.#start()
    this.#worker.unref()
    this.#endWhenIdle()
  }

  /** Ends the worker; a running job fails, and those that wait run. */
  async close(): Promise<void> {
    await this.#end()
    await this.#working
    await this.#end()
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    const ending = this.#worker
    this.#worker = undefined
    await ending?.terminate()
  }

  #start(): Worker {
    const before = new Set(threadIds())
    // the worker does not need the settings and secrets of the process
    const worker = startThread(this.#file, { resourceLimits: this.#resourceLimits, env: {} })
    // a thread begins within the constructor; two are new when another thread has started one meanwhile
    const started = threadIds().filter(id => !before.has(id))
    this.#threadId = started.length === 1 ? started[0] : undefined
    // an error between two jobs has no other listener and would end the process; a worker that has ended gets no further job
    const drop = (): void => {
      if (this.#worker === worker) this.#worker = undefined
    }
    return worker.on('error', drop).on('exit', drop)
  }

  async #run<Message, Result>(job: WorkerJob<Message, Result>): Promise<Result> {
    clearTimeout(this.#idle)
    const isStarted = this.#worker !== undefined
    const worker = this.#worker ?? this.#start()
    this.#worker = worker
    const startedAt = performance.now()
    const before = this.#processorMs()
    const { result, broken } = await runIn(worker, job)
    // what a job waited for a processor is the use of others
    const usedMs = this.#processorMs() - before
    // the start of a thread takes longer than most jobs, and is nobody's use
    if (isStarted) job.charge?.(Number.isNaN(usedMs) ? performance.now() - startedAt : usedMs)
    if (broken) await this.#end()
    else this.#endWhenIdle()
    return result
  }

  /** @returns what the thread has used so far; NaN when it has ended, or where the system does not know it */
  #processorMs(): number {
    try {
      const ns = readFileSync(`/proc/self/task/${this.#threadId}/schedstat`, 'latin1').split(' ', 1)[0]
      return Number(ns) / 1e6
    } catch {
      return Number.NaN
    }
  }

  #endWhenIdle(): void {
    this.#idle = setTimeout(() => void this.#end(), this.#idleMs).unref()
  }
}

const all = (): boolean => true

/** @returns of this process, on Linux; none on other systems */
function threadIds(): string[] {
  try {
    return readdirSync('/proc/self/task')
  } catch {
    return []
  }
}

/** `broken`: the worker must not be used again. */
function runIn<Message, Result>(
  worker: Worker,
  job: WorkerJob<Message, Result>,
): Promise<{ readonly result: Result; readonly broken: boolean }> {
  return new Promise(resolve => {
    const finish = (result: Result, broken: boolean): void => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit).unref()
      resolve({ result, broken })
    }
    const onError = (error: Error): void => finish(job.fail(error), true)
    const onExit = (): void => finish(job.fail('exit'), true)
    const onTimeout = (): void => finish(job.fail('timeout'), true)
    const running: RunningJob = {
      post: message => worker.postMessage(message),
      restartTimeout(timeoutMs) {
        clearTimeout(timer)
        timer = setTimeout(onTimeout, timeoutMs)
      },
    }
    const onMessage = (message: Message): void => {
      const result = job.receive(message, running)
      if (result !== undefined) finish(result, false)
    }
    let timer = setTimeout(onTimeout, job.timeoutMs)
    worker.ref()
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    worker.postMessage(job.message, [...(job.transfer ?? [])])
  })
}
