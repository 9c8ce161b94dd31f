/** Compiles documents in a worker thread with limits on time and memory. `compile-worker.ts` runs in that thread. */

import { writeJson } from '../../base/json/exact-number.ts'
import { JobWorker, type WorkerJob } from '../../base/threads/job-worker.ts'
import type { Tool } from '../../model/tool.ts'
import type { Compiled, CompileJob, ToolSetCompiler } from './compile-job.ts'
import type { WorkerJob as CompilerMessage, WorkerMessage } from './compile-worker.ts'
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

interface ThreadCompiler extends ToolSetCompiler {
  /** Starts the worker before the first document. */
  prepare(): void
}

/** One worker that compiles one document at a time; namespaces, and so tenants, take turns with theirs. */
export function createCompiler(limits: CompilerLimits = DEFAULT_COMPILER_LIMITS): ThreadCompiler {
  const worker = new JobWorker(
    new URL('./compile-worker.ts', import.meta.url),
    { maxOldGenerationSizeMb: limits.maxHeapMb, stackSizeMb: 4 },
    limits.idleMs,
  )
  let closed = false
  return {
    async compile(job) {
      if (closed) return { kind: 'fault', message: 'the gateway is shutting down' }
      return worker.run(compilation(job, limits), job.toolSet.namespace)
    },
    prepare: () => worker.prepare(),
    close() {
      closed = true
      return worker.close()
    },
  }
}

function compilation(job: CompileJob, limits: CompilerLimits): WorkerJob<WorkerMessage, Compiled> {
  const tools: Tool[] = []
  const definitions: { [name: string]: Definition } = {}
  const { toolSet, ...rest } = job
  const { document } = job
  // a view of a larger buffer stays: the files beside the document are views of it, too
  const moved =
    typeof document !== 'string' &&
    document.byteLength > MOVED_FROM_BYTES &&
    document.byteLength === document.buffer.byteLength
  return {
    message: { job: rest, toolSet: writeJson(toolSet), moved } satisfies CompilerMessage,
    transfer: moved ? [document.buffer as ArrayBuffer] : [],
    timeoutMs: limits.timeoutMs,
    receive(message, running) {
      if (message.kind === 'tools') {
        tools.push(...message.tools)
        Object.assign(definitions, message.definitions)
        // The next batch is requested in a later turn, so that batches do not block other work.
        setImmediate(() => running.post('next'))
        return undefined
      }
      const { outcome, document: returned } = message
      const made =
        outcome.kind === 'compiled'
          ? { ...outcome, result: { ...outcome.result, tools }, definitions }
          : outcome
      return returned === undefined ? made : { ...made, document: returned }
    },
    fail: reason => ({ kind: 'fault', message: explain(reason, limits) }),
  }
}

function explain(reason: Error | 'exit' | 'timeout', limits: CompilerLimits): string {
  if (reason === 'exit') return 'the compiler ended unexpectedly'
  if (reason === 'timeout')
    return `the document takes longer than ${limits.timeoutMs / 1000} s to compile: split it`
  if ((reason as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY')
    return `the document needs more than ${limits.maxHeapMb} MB of memory to compile: split it`
  return `the compiler failed: ${reason.message.slice(0, 200)}`
}
