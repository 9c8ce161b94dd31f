/** Wires the policy of one plane: what decides, what keeps the decisions, and what operators may ask of it. It decides nothing. */
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import type { PolicyDesk } from '../../data-plane/http/admin-policy.ts'
import type { DecisionObserver, PolicyInput } from '../../shared/policy/engine.ts'
import { PolicyFollower } from '../../shared/policy/live/follower.ts'
import { recordedPolicy } from '../../shared/policy/log/recorded-policy.ts'
import { DecisionRecorder, type RecorderOptions } from '../../shared/policy/log/recorder.ts'
import { createDecisionLog } from '../../shared/policy/log/writer.ts'
import { SILENT } from '../../shared/telemetry/log.ts'
import type { Ground } from './ground.ts'
import { policyDesk } from './policy-desk.ts'
import {
  openPolicyServer,
  type PlanePolicy,
  type PolicyOwner,
  policyOwner,
  preparerOf,
} from './policy-served.ts'

export interface GatewayPolicy extends PlanePolicy {
  readonly decisions: DecisionObserver
  readonly desk: PolicyDesk
}

/** Inputs that a new bundle has to prove itself on. */
const TRIED_INPUTS = 64

/** What the gateway of the same process keeps: the control plane must not write over its log. */
const recorderOn = new WeakMap<Ground, DecisionRecorder>()

/** The policy of the control plane: the owner's own. */
export async function openControlPolicy(ground: Ground): Promise<PlanePolicy> {
  const beside = recorderOn.get(ground)
  const recorder = beside ?? openRecorder(ground)
  let plane: PlanePolicy
  if (ground.settings.policy.engine === 'opa-http') plane = await openPolicyServer(ground)
  else {
    const owner = await policyOwner(ground)
    if (beside === undefined) owner.alsoTryOn(() => inputsOf(recorder))
    plane = owner.plane
  }
  let current = recordedPolicy(plane.current(), recorder)
  plane.onSwap(next => {
    current = recordedPolicy(next, recorder)
  })
  return { ...plane, current: () => current }
}

/**
 * The policy of a data plane, with everything its operators may ask of it.
 * @param owner the one of this thread when absent.
 * @throws Error naming what cannot be opened
 */
export async function openGatewayPolicy(ground: Ground, owner?: PolicyOwner): Promise<GatewayPolicy> {
  let follower: PolicyFollower | undefined
  const recorder = openRecorder(ground, (input, decision) => follower?.observe(input, decision))
  recorderOn.set(ground, recorder)
  if (ground.settings.policy.engine === 'opa-http') {
    const plane = await openPolicyServer(ground)
    const desk = policyDesk({ ground, recorder, plane, live: undefined, owner: undefined })
    return { ...plane, decisions: recorder, desk }
  }
  const bundles = owner ?? (await policyOwner(ground))
  const followed = await follow(ground, bundles, recorder)
  follower = followed
  const plane: PlanePolicy = {
    current: () => followed.current,
    onSwap: listener => followed.onSwap(listener),
  }
  const desk = policyDesk({ ground, recorder, plane, live: followed.platform, owner: bundles })
  return { ...plane, decisions: recorder, desk }
}

/** Joins first and prepares what is active then: no change is missed meanwhile, it waits. */
async function follow(
  ground: Ground,
  owner: PolicyOwner,
  recorder: DecisionRecorder,
): Promise<PolicyFollower> {
  let ready!: (follower: PolicyFollower) => void
  const opening = new Promise<PolicyFollower>(resolve => {
    ready = resolve
  })
  let follower: PolicyFollower | undefined
  const { bundles } = await owner.join({
    prepare: async change => (await opening).prepare(change),
    activate: () => follower?.activate(),
    discard: () => follower?.discard(),
    recent: () => inputsOf(recorder),
    shadow: () => follower?.shadow,
  })
  // the owner logs a swap once for all
  follower = await PolicyFollower.open(bundles, { ...preparerOf(ground), log: SILENT })
  const followed = follower
  ground.closers.add('policy of the gateway', () => followed.close())
  showCandidate(ground, followed)
  ready(followed)
  return followed
}

function showCandidate({ settings, metrics }: Ground, follower: PolicyFollower): void {
  if (settings.policy.shadow === undefined) return
  metrics.gauge(
    'platform_policy_shadow_compared',
    'Decisions that the candidate policy made beside the live one.',
    () => follower.shadow?.compared ?? 0,
  )
  metrics.gauge(
    'platform_policy_shadow_flips',
    'Decisions of the candidate policy that came out otherwise.',
    () => follower.shadow?.flipped ?? 0,
  )
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
