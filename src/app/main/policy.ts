/** Opens the policy of a gateway or a control plane: its bundles, its decision log and its operations. It decides about no call. */

import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { withDoubles } from '../../base/json/exact-number.ts'
import type { PolicyOperations } from '../../data-plane/http/admin/admin-policy.ts'
import type { DecisionObserver, PolicyInput, PreparedPolicy } from '../../policy/engine.ts'
import { PolicyFollower } from '../../policy/live/follower.ts'
import { BundleHistory } from '../../policy/live/history.ts'
import type { LivePolicy } from '../../policy/live/live-policy.ts'
import type { KeepArguments } from '../../policy/log/entry.ts'
import { recordedPolicy } from '../../policy/log/recorded-policy.ts'
import { DecisionRecorder, type RecorderOptions } from '../../policy/log/recorder.ts'
import { createDecisionLog } from '../../policy/log/writer.ts'
import { createBundleTrial } from '../../policy/opa-wasm/trial.ts'
import type { PolicyWorkshop } from '../../policy/workshop/policy-workshop.ts'
import { Workshop } from '../../policy/workshop/workshop.ts'
import { SILENT } from '../../telemetry/log.ts'
import type { Settings } from '../settings.ts'
import type { AppContext } from './app-context.ts'
import { policyOperations } from './policy-operations.ts'
import {
  type OpenPolicyOwner,
  openPolicyServer,
  type PlanePolicy,
  type PolicyOwner,
  policyOwner,
  preparerOf,
} from './policy-served.ts'

export interface GatewayPolicy extends PlanePolicy {
  readonly decisions: DecisionObserver
  readonly operations: PolicyOperations
}

/** Recent inputs that a new bundle is tried on. */
const TRIED_INPUTS = 64

/** The recorder of the gateway in the same process: the control plane must not overwrite its log. */
const recorderOn = new WeakMap<AppContext, DecisionRecorder>()

export interface ControlPolicy extends PlanePolicy {
  /** A policy whose decisions are not recorded. */
  readonly unrecorded: () => PreparedPolicy
  /** undefined with a policy server, which keeps its own bundles. */
  readonly workshop: PolicyWorkshop | undefined
}

/** The policy of the control plane: that of a policy server, or of the owner in this thread. */
export async function openControlPolicy(context: AppContext): Promise<ControlPolicy> {
  const beside = recorderOn.get(context)
  const recorder = beside ?? openRecorder(context)
  let plane: PlanePolicy
  let workshop: PolicyWorkshop | undefined
  if (context.settings.policy.engine === 'opa-http') plane = await openPolicyServer(context)
  else {
    const owner = await policyOwner(context)
    if (beside === undefined) owner.alsoTryOn(() => inputsOf(recorder))
    plane = owner.plane
    workshop = openPolicyWorkshop(context, owner, recorder)
  }
  let current = recordedPolicy(plane.current(), recorder)
  plane.onSwap(next => {
    current = recordedPolicy(next, recorder)
  })
  return { ...plane, current: () => current, unrecorded: plane.current, workshop }
}

/**
 * The policy of a data plane with its admin operations.
 * @param owner absent: the owner in this thread
 * @throws Error with the part that cannot be opened
 */
export async function openGatewayPolicy(context: AppContext, owner?: PolicyOwner): Promise<GatewayPolicy> {
  let follower: PolicyFollower | undefined
  const recorder = openRecorder(context, (input, decision) => follower?.observe(input, decision))
  recorderOn.set(context, recorder)
  if (context.settings.policy.engine === 'opa-http') {
    const plane = await openPolicyServer(context)
    const operations = policyOperations({ context, recorder, plane, live: undefined, owner: undefined })
    return { ...plane, decisions: recorder, operations }
  }
  const bundles = owner ?? (await policyOwner(context))
  const followed = await follow(context, bundles, recorder)
  follower = followed
  const plane: PlanePolicy = {
    current: () => followed.current,
    onSwap: listener => followed.onSwap(listener),
  }
  const operations = policyOperations({ context, recorder, plane, live: followed.platform, owner: bundles })
  return { ...plane, decisions: recorder, operations }
}

/** Joins before it prepares the active bundles, so that a change during the preparation waits and is not missed. */
async function follow(
  context: AppContext,
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
  follower = await PolicyFollower.open(bundles, { ...preparerOf(context), log: SILENT })
  const followed = follower
  context.closers.add('policy of the gateway', () => followed.close())
  showCandidate(context, followed)
  ready(followed)
  return followed
}

function showCandidate({ metrics }: AppContext, follower: PolicyFollower): void {
  metrics.read('platform_policy_shadow_compared', () => follower.shadow?.compared ?? 0)
  metrics.read('platform_policy_shadow_flips', () => follower.shadow?.flipped ?? 0)
}

function openRecorder(
  { settings, log, closers, metrics }: AppContext,
  also: NonNullable<RecorderOptions['also']> = () => {},
): DecisionRecorder {
  const { keep, sampleAllowed } = settings.policy.decisionLog
  const dir = join(settings.dataDir, 'decisions')
  const file = keep === 'off' ? undefined : createDecisionLog({ dir, thread: threadId, log })
  if (file !== undefined) closers.add('decision log', () => file.close())
  metrics.read('platform_decisions_dropped', () => file?.dropped ?? 0)
  return new DecisionRecorder({
    log: file,
    dir,
    sampleAllowed: keep === 'off' ? 0 : sampleAllowed,
    keepArguments: keptArgumentsOf(settings),
    also,
  })
}

/** What becomes of arguments wherever they are kept. */
export function keptArgumentsOf({ policy }: Pick<Settings, 'policy'>): KeepArguments {
  const { keep, allowed } = policy.decisionLog
  return keep === 'off' ? 'masked' : keep === 'allowed' ? new Set(allowed) : keep
}

function inputsOf(recorder: DecisionRecorder): readonly PolicyInput[] {
  // they cross to another thread, where exact numbers would lose their class
  return recorder.recent(TRIED_INPUTS).map(({ input }) => withDoubles(input) as PolicyInput)
}

function openPolicyWorkshop(
  { closers, settings, log }: AppContext,
  { live, candidate, options }: OpenPolicyOwner,
  recorder: DecisionRecorder,
): PolicyWorkshop {
  const trial = createBundleTrial()
  closers.add('trial of drafts', () => trial.close())
  const history = new BundleHistory(join(settings.dataDir, 'policy', 'history'))
  const keep = (current: LivePolicy['current']): Promise<void> =>
    history.keep(current, current.bundle).catch((error: unknown) => {
      log.warn(
        { err: error },
        'the policy bundle could not be saved in DATA_DIR, so you cannot roll back to this bundle later. Check the disk and permissions of DATA_DIR',
      )
    })
  void keep(live.current)
  live.onSwap(next => void keep(next))
  const bundleFile = settings.policy.bundle
  return new Workshop({ live, candidate, options, recorder, trial, history, bundleFile, env: process.env })
}
