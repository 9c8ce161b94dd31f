/** The worker thread that a bundle is tried in: it loads the bundle and evaluates recent inputs. It serves no call. */
import { parentPort } from 'node:worker_threads'
import type { PolicyInput } from '../engine.ts'
import { createOpaWasmEngine } from './engine.ts'

export interface TrialJob {
  readonly bundle: Uint8Array
  readonly inputs: readonly PolicyInput[]
  readonly maxEvaluationMs: number
}

export type TrialMessage =
  /** The worker has the bundle in hand: from now on it is the bundle that takes its time. */
  | { readonly kind: 'begun' }
  /** What is wrong with the bundle; '' when it may serve. */
  | { readonly kind: 'done'; readonly fault: string }

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')

port.on('message', (job: TrialJob) => {
  post({ kind: 'begun' })
  void tried(job).then(fault => post({ kind: 'done', fault }))
})

function post(message: TrialMessage): void {
  port!.postMessage(message)
}

async function tried({ bundle, inputs, maxEvaluationMs }: TrialJob): Promise<string> {
  let failed = ''
  const engine = createOpaWasmEngine({
    maxEvaluationMs,
    onFailure: (failure, detail) => {
      failed ||= `${failure}: ${detail}`
    },
  })
  try {
    const policy = await engine.prepare(bundle)
    for (const [at, input] of inputs.entries()) {
      await policy.decide(input, String(at), at)
      if (failed !== '')
        return `the policy bundle cannot decide about ${input.action.name} ${input.resource.id} (${failed})`
    }
    policy.close()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
