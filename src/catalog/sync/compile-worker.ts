/** The worker thread that compiles documents and sends tools in batches. */
import { parentPort } from 'node:worker_threads'
import { readJson } from '../../base/json/exact-number.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import { type CompileJob, type CompileOutcome, runCompileJob } from './compile-job.ts'
import type { Definitions } from './definitions.ts'

export type WorkerMessage =
  | { readonly kind: 'tools'; readonly tools: readonly Tool[]; readonly definitions: Definitions }
  /** The last message; its tools were sent before. */
  | {
      readonly kind: 'outcome'
      readonly outcome: CompileOutcome
      readonly document?: Uint8Array<ArrayBuffer>
    }

export interface WorkerJob {
  readonly job: Omit<CompileJob, 'toolSet'>
  /** JSON, because a message holds no exact numbers. */
  readonly toolSet: string
  /** The bytes of the document were moved here and are returned with the outcome. */
  readonly moved: boolean
}

/** The receiving thread processes a batch in a few milliseconds. */
const BATCH_CHARS = 60_000
const BATCH_TOOLS = 50

const port = parentPort
if (port === null) throw new Error('this file has to be started as a worker thread')

let rest: Generator<WorkerMessage> | undefined

port.on('message', (message: WorkerJob | 'next') => {
  if (message !== 'next') rest = messages(message)
  const next = rest?.next()
  if (next?.done !== false) return
  const document = next.value.kind === 'outcome' ? next.value.document : undefined
  port.postMessage(next.value, document === undefined ? [] : [document.buffer])
})

function* messages({ job, toolSet, moved }: WorkerJob): Generator<WorkerMessage> {
  const outcome = runCompileJob({ ...job, toolSet: readJson(toolSet) as ToolSet })
  const back = moved ? { document: job.document as Uint8Array<ArrayBuffer> } : {}
  if (outcome.kind !== 'compiled') {
    yield { kind: 'outcome', outcome, ...back }
    return
  }
  yield* batches(outcome.result.tools, outcome.definitions)
  const result = { ...outcome.result, tools: [] }
  yield { kind: 'outcome', outcome: { ...outcome, result, definitions: {} }, ...back }
}

function* batches(tools: readonly Tool[], all: Definitions): Generator<WorkerMessage> {
  let batch: Tool[] = []
  let chars = 0
  for (const tool of tools) {
    batch.push(tool)
    chars += JSON.stringify(tool.inputSchema).length
    if (chars < BATCH_CHARS && batch.length < BATCH_TOOLS) continue
    yield { kind: 'tools', tools: batch, definitions: definitionsOf(batch, all) }
    batch = []
    chars = 0
  }
  if (batch.length > 0) yield { kind: 'tools', tools: batch, definitions: definitionsOf(batch, all) }
}

function definitionsOf(batch: readonly Tool[], all: Definitions): Definitions {
  return Object.fromEntries(batch.map(({ name }) => [name, all[name]!]))
}
