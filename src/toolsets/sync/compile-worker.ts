/** The worker thread that compiles: one job in, tools out in batches the other side asks for. It keeps nothing between jobs. */
import { parentPort } from 'node:worker_threads'
import type { Tool } from '../../model/tool.ts'
import { type CompileJob, type CompileOutcome, runCompileJob } from './compile-job.ts'

export type WorkerMessage =
  | { readonly kind: 'tools'; readonly tools: readonly Tool[] }
  /** The last one; its tools were sent before. */
  | { readonly kind: 'outcome'; readonly outcome: CompileOutcome }

/** A batch takes the receiving thread a few milliseconds. */
const BATCH_CHARS = 60_000
const BATCH_TOOLS = 50

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')

let rest: Generator<WorkerMessage> | undefined

port.on('message', (message: CompileJob | 'next') => {
  if (message !== 'next') rest = messages(message)
  const next = rest?.next()
  if (next?.done === false) port.postMessage(next.value)
})

function* messages(job: CompileJob): Generator<WorkerMessage> {
  const outcome = runCompileJob(job)
  if (outcome.kind !== 'compiled') {
    yield { kind: 'outcome', outcome }
    return
  }
  yield* batches(outcome.result.tools)
  yield { kind: 'outcome', outcome: { ...outcome, result: { ...outcome.result, tools: [] } } }
}

function* batches(tools: readonly Tool[]): Generator<WorkerMessage> {
  let batch: Tool[] = []
  let chars = 0
  for (const tool of tools) {
    batch.push(tool)
    chars += JSON.stringify(tool.inputSchema).length
    if (chars < BATCH_CHARS && batch.length < BATCH_TOOLS) continue
    yield { kind: 'tools', tools: batch }
    batch = []
    chars = 0
  }
  if (batch.length > 0) yield { kind: 'tools', tools: batch }
}
