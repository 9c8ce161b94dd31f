/** Wires the policy of one plane: what decides, what keeps the decisions, and what operators may ask of it. It decides nothing. */
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import type { PolicyDesk } from '../gateway/admin-policy.ts'
import type { DecisionObserver, PolicyInput, PreparedPolicy } from '../policy/engine.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import { tightened } from '../policy/live/tightened.ts'
import { recordedPolicy } from '../policy/log/recorded-policy.ts'
import { DecisionRecorder, type RecorderOptions } from '../policy/log/recorder.ts'
import { createDecisionLog } from '../policy/log/writer.ts'
import type { Ground } from './ground.ts'
import { openCandidate } from './policy-candidate.ts'
import { policyDesk } from './policy-desk.ts'
import { openServed, type PlanePolicy, type Served } from './policy-served.ts'

export interface GatewayPolicy extends PlanePolicy {
  readonly decisions: DecisionObserver
  readonly desk: PolicyDesk
}

/** Inputs that a new bundle has to prove itself on. */
const TRIED_INPUTS = 64

/** What the gateway of the same process serves: the control plane must not decide by another bundle, nor write over its log. */
const gatewayOn = new WeakMap<Ground, { readonly served: Served; readonly recorder: DecisionRecorder }>()

/** The policy of the control plane. Beside a gateway it follows that one's bundles, with a place of its own to remember decisions. */
export async function openControlPolicy(ground: Ground): Promise<PlanePolicy> {
  const beside = gatewayOn.get(ground)
  const recorder = beside?.recorder ?? openRecorder(ground)
  const plane =
    beside?.served.live === undefined
      ? (await openServed(ground, () => inputsOf(recorder))).plane
      : await followed(ground, beside.served, beside.served.live)
  let current = recordedPolicy(plane.current(), recorder)
  plane.onSwap(next => {
    current = recordedPolicy(next, recorder)
  })
  return { ...plane, current: () => current }
}

async function followed(
  { log, closers }: Ground,
  { plane, tenants, options }: Served,
  live: LivePolicy,
): Promise<PlanePolicy> {
  let { bundle } = live.current
  let own = await options.prepare(bundle)
  let current = own
  closers.add('policy of the control plane', () => own.close())
  const listeners: ((policy: PreparedPolicy) => void)[] = []
  const serve = (): void => {
    current = tightened(own, tenants?.policies ?? new Map())
    for (const listener of listeners) listener(current)
  }
  const follow = async (): Promise<void> => {
    const wanted = live.current.bundle
    if (wanted !== bundle) {
      const next = await options.prepare(wanted)
      // meanwhile another one may have come
      if (wanted !== live.current.bundle) return next.close()
      // decisions under way are not waited for: they take microseconds, and this happens between two of them
      own.close()
      own = next
      bundle = wanted
    }
    serve()
  }
  serve()
  plane.onSwap(() => {
    follow().catch(error => log.error({ err: error }, 'the control plane still decides by the policy before'))
  })
  return { current: () => current, onSwap: listener => void listeners.push(listener) }
}

/** The policy of a data plane, with everything its operators may ask of it. @throws Error naming what cannot be opened */
export async function openGatewayPolicy(ground: Ground): Promise<GatewayPolicy> {
  const recorder = openRecorder(ground, (input, decision) => candidate?.observe(input, decision))
  const served = await openServed(ground, () => inputsOf(recorder))
  gatewayOn.set(ground, { served, recorder })
  const candidate = openCandidate(ground, served.live, served.options)
  return {
    ...served.plane,
    decisions: recorder,
    desk: policyDesk({ ground, recorder, candidate, ...served }),
  }
}

function openRecorder(
  { settings, log, closers, metrics }: Ground,
  also: NonNullable<RecorderOptions['also']> = () => {},
): DecisionRecorder {
  const { keep, sampleAllowed } = settings.policy.decisionLog
  const dir = join(settings.dataDir, 'decisions')
  const file = keep === 'off' ? undefined : createDecisionLog({ dir, thread: threadId, log })
  if (file !== undefined) closers.add('decision log', () => file.close())
  metrics.gauge('platform_decisions_dropped', 'Decisions the log had to leave out.', () => file?.dropped ?? 0)
  return new DecisionRecorder({
    log: file,
    dir,
    sampleAllowed: keep === 'off' ? 0 : sampleAllowed,
    keepArguments: keep === 'off' ? 'masked' : keep,
    also,
  })
}

function inputsOf(recorder: DecisionRecorder): readonly PolicyInput[] {
  return recorder.recent(TRIED_INPUTS).map(({ input }) => input)
}
