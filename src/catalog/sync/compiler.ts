/** Compiles documents in a worker thread with limits on time and memory, so that no document blocks the event loop. It compiles nothing on this thread. */

import type { Worker } from 'node:worker_threads'
import type { Tool } from '../../model/tool.ts'
import { SerialQueue } from '../../shared/async/serial-queue.ts'
import { startThread } from '../../shared/threads/start-thread.ts'
import type { Compiled, CompileJob, ToolSetCompiler } from './compile-job.ts'
import type { WorkerJob, WorkerMessage } from './compile-worker.ts'
import type { Definition } from './definitions.ts'

interface CompilerLimits {
  /** For one document. */
  readonly timeoutMs: number
  /** Heap of the worker. The largest known document (47 MB) needs 1.1 GB. */
  readonly maxHeapMb: number
  /** An idle worker ends after this time. */
  readonly idleMs: number
}

const DEFAULT_COMPILER_LIMITS: CompilerLimits = { timeoutMs: 120_000, maxHeapMb: 2048, idleMs: 5_000 }

/** Larger documents are moved to the worker instead of copied; smaller ones may share memory with other buffers of the process. */
const MOVED_FROM_BYTES = 64 * 1024

/** One worker that compiles one document at a time; further documents are queued. */
export function createCompiler(limits: CompilerLimits = DEFAULT_COMPILER_LIMITS): ToolSetCompiler {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  const queue = new SerialQueue()
  let closed = false

  async function end(): Promise<void> {
    const ending = worker
    worker = undefined
    await ending?.terminate()
  }

  async function run(job: CompileJob): Promise<Compiled> {
    if (closed) return { kind: 'fault', message: 'the gateway is shutting down' }
    clearTimeout(idle)
    worker ??= startWorker(limits)
    const outcome = await runIn(worker, job, limits)
    if (outcome.broken) await end()
    else {
      idle = setTimeout(() => void end(), limits.idleMs)
      idle.unref()
    }
    return outcome.result
  }

  return {
    compile(job) {
      return queue.run(() => run(job))
    },
    async close() {
      closed = true
      clearTimeout(idle)
      await end()
      await queue.drain()
    },
  }
}

function startWorker(limits: CompilerLimits): Worker {
  const options = {
    resourceLimits: { maxOldGenerationSizeMb: limits.maxHeapMb, stackSizeMb: 4 },
    // The worker does not need the settings and secrets of the process.
    env: {},
  }
  const worker = startThread(new URL('./compile-worker.ts', import.meta.url), options)
  worker.unref()
  return worker
}

/** `broken`: the worker must not be used again. */
interface Ran {
  readonly result: Compiled
  readonly broken: boolean
}

function runIn(worker: Worker, job: CompileJob, limits: CompilerLimits): Promise<Ran> {
  return new Promise(resolve => {
    const tools: Tool[] = []
    const definitions: { [name: string]: Definition } = {}
    const finish = (result: Compiled, broken: boolean): void => {
      clearTimeout(timer)
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      worker.unref()
      resolve({ result, broken })
    }
    const fail = (message: string): void => finish({ kind: 'fault', message }, true)
    const onMessage = (message: WorkerMessage): void => {
      if (message.kind === 'tools') {
        tools.push(...message.tools)
        Object.assign(definitions, message.definitions)
        // The next batch is requested in a later turn, so that batches do not block other work.
        setImmediate(() => worker.postMessage('next'))
      } else {
        const { outcome, document } = message
        const made =
          outcome.kind === 'compiled'
            ? { ...outcome, result: { ...outcome.result, tools }, definitions }
            : outcome
        finish(document === undefined ? made : { ...made, document }, false)
      }
    }
    const onError = (error: Error): void => fail(explain(error, limits))
    const onExit = (): void => fail('the compiler ended unexpectedly')
    const timer = setTimeout(
      () => fail(`the document takes longer than ${limits.timeoutMs / 1000} s to compile: split it`),
      limits.timeoutMs,
    )
    worker.ref()
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
    const { document } = job
    const moved = typeof document !== 'string' && document.byteLength > MOVED_FROM_BYTES
    const message: WorkerJob = { job, moved }
    worker.postMessage(message, moved ? [document.buffer as ArrayBuffer] : [])
  })
}

function explain(error: Error, limits: CompilerLimits): string {
  if ((error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return `the document needs more than ${limits.maxHeapMb} MB of memory to compile: split it`
  }
  return `the compiler failed: ${error.message.slice(0, 200)}`
}
