/** The worker thread that bundles are tried in, and its messages: it loads a bundle and evaluates given inputs. */
import { parentPort } from 'node:worker_threads'
import type { Decision, PolicyInput } from '../engine.ts'
import { createOpaWasmEngine } from './engine.ts'

export interface TrialJob {
  readonly bundle: Uint8Array
  readonly inputs: readonly PolicyInput[]
  readonly maxEvaluationMs: number
  /** True: a decision that cannot be made is one of the result; otherwise it is a fault of the bundle. */
  readonly wantsDecisions: boolean
}

export type TrialMessage =
  /** The worker has the bundle in hand: from now on it is the bundle that takes its time. */
  | { readonly kind: 'begun' }
  /** What is wrong with the bundle; '' when it may serve. */
  | { readonly kind: 'done'; readonly fault: string; readonly decisions: readonly Decision[] }

const port = parentPort
if (port === null) throw new Error('this file has to be started as a worker thread')

port.on('message', (job: TrialJob) => {
  post({ kind: 'begun' })
  void runTrial(job).then(result => post({ kind: 'done', ...result }))
})

function post(message: TrialMessage): void {
  port!.postMessage(message)
}

interface Tried {
  readonly fault: string
  readonly decisions: readonly Decision[]
}

async function runTrial({ bundle, inputs, maxEvaluationMs, wantsDecisions }: TrialJob): Promise<Tried> {
  let failed = ''
  const decisions: Decision[] = []
  const engine = createOpaWasmEngine({
    maxEvaluationMs,
    onFailure: (failure, detail) => {
      failed ||= `${failure}: ${detail}`
    },
  })
  try {
    const policy = await engine.prepare(bundle)
    for (const [at, input] of inputs.entries()) {
      const decision = await policy.decide(input, String(at), at)
      if (wantsDecisions) decisions.push(decision)
      else if (failed !== '') {
        const fault = `the policy bundle cannot evaluate the action ${input.action.name} on the resource ${input.resource.id} (${failed})`
        return { fault, decisions }
      }
    }
    policy.close()
    return { fault: '', decisions }
  } catch (error) {
    return { fault: (error as Error).message, decisions }
  }
}
