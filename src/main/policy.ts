/** Wires the policy of one plane: engine, bundle that may change, tenants' bundles, candidate, decision log. It decides nothing. */
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import type { PolicyDesk } from '../gateway/admin-policy.ts'
import { jwsVerifier } from '../identity/verify-jws.ts'
import type { DecisionObserver, PreparedPolicy } from '../policy/engine.ts'
import { fileSource } from '../policy/live/file-source.ts'
import { httpSource } from '../policy/live/http-source.ts'
import { LivePolicy, type LivePolicyOptions } from '../policy/live/live-policy.ts'
import { type BundleSource, watchSource } from '../policy/live/source.ts'
import { TenantBundles } from '../policy/live/tenant-bundles.ts'
import { tightened } from '../policy/live/tightened.ts'
import { DecisionRecorder } from '../policy/log/recorder.ts'
import { createDecisionLog } from '../policy/log/writer.ts'
import { createOpaHttpEngine } from '../policy/opa-http/engine.ts'
import { createOpaWasmEngine } from '../policy/opa-wasm/engine.ts'
import { createBundleTrial } from '../policy/opa-wasm/trial.ts'
import type { Ground } from './ground.ts'
import { openCandidate } from './policy-candidate.ts'
import { policyDesk } from './policy-desk.ts'

/** What a plane asks, and how it hears of another policy. */
export interface PlanePolicy {
  readonly current: () => PreparedPolicy
  onSwap(listener: (policy: PreparedPolicy) => void): void
}

export interface GatewayPolicy extends PlanePolicy {
  readonly decisions: DecisionObserver
  readonly desk: PolicyDesk
}

/** Inputs that a new bundle has to prove itself on. */
const TRIED_INPUTS = 64

/** What the gateway of the same process serves: the control plane must not decide by another bundle. */
const servedOn = new WeakMap<Ground, Served>()

/** The policy of the control plane. Beside a gateway it follows that one's bundles, with a place of its own to remember decisions. */
export async function openControlPolicy(ground: Ground): Promise<PlanePolicy> {
  const beside = servedOn.get(ground)
  if (beside?.live === undefined) return (await openServed(ground, () => [], true)).plane
  return followed(ground, beside, beside.live)
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
  const { settings, log, closers, metrics } = ground
  const { keep, sampleAllowed } = settings.policy.decisionLog
  const dir = join(settings.dataDir, 'decisions')
  const file = keep === 'off' ? undefined : createDecisionLog({ dir, thread: threadId, log })
  if (file !== undefined) closers.add('decision log', () => file.close())
  const recorder: DecisionRecorder = new DecisionRecorder({
    log: file,
    dir,
    sampleAllowed: keep === 'off' ? 0 : sampleAllowed,
    keepArguments: keep === 'off' ? 'masked' : keep,
    also: (input, decision) => candidate?.observe(input, decision),
  })
  const served = await openServed(ground, () => recorder.recent(TRIED_INPUTS).map(({ input }) => input), true)
  servedOn.set(ground, served)
  const candidate = openCandidate(ground, served.live, served.options)
  metrics.gauge('platform_decisions_dropped', 'Decisions the log had to leave out.', () => file?.dropped ?? 0)
  return {
    ...served.plane,
    decisions: recorder,
    desk: policyDesk({ ground, recorder, candidate, ...served }),
  }
}

export interface Served {
  readonly plane: PlanePolicy
  /** undefined with a policy server: it has its bundles to itself. */
  readonly live: LivePolicy | undefined
  readonly tenants: TenantBundles | undefined
  readonly options: LivePolicyOptions
}

async function openServed(
  ground: Ground,
  recent: () => readonly Parameters<PreparedPolicy['decide']>[0][],
  counts: boolean,
): Promise<Served> {
  const { settings, egress, log, closers, metrics, conditions } = ground
  const { engine, url, bundle, pollMs, key, tenants: tenantsDir } = settings.policy
  const onFailure = (failure: string): void => metrics.policyFailed(failure)
  const trial = createBundleTrial()
  closers.add('trial of policies', () => trial.close())
  const wasm = createOpaWasmEngine({ log, onFailure })
  const options: LivePolicyOptions = {
    prepare: archive => wasm.prepare(archive),
    trial: archive => trial.run(archive, recent()),
    ...(key === undefined ? {} : { verify: verifierOf(key) }),
    log,
  }
  if (engine === 'opa-http') {
    const server = await createOpaHttpEngine({ url: url!, egress, log, onFailure }).prepare(new Uint8Array())
    closers.add('policy', () => server.close())
    const plane = { current: () => server, onSwap: () => {} }
    return { plane, live: undefined, tenants: undefined, options }
  }

  const source = sourceOf(bundle, ground)
  const live = await LivePolicy.open((await source.read())!, options)
  closers.add('policy', () => live.close())
  const tenants =
    tenantsDir === undefined ? undefined : new TenantBundles(tenantsDir, { ...options, trialFirst: true })
  if (tenants !== undefined) closers.add('policies of tenants', () => tenants.close())
  await tenants?.refresh()
  const compose = (): PreparedPolicy => tightened(live.current.policy, tenants?.policies ?? new Map())
  let current = compose()
  const listeners: ((policy: PreparedPolicy) => void)[] = []
  const serve = (): void => {
    current = compose()
    for (const listener of listeners) listener(current)
  }
  live.onSwap(serve)
  const tell = (): void => {
    conditions.set('policy', live.status.fault)
    conditions.set('policies of tenants', tenants?.fault)
  }
  tell()
  const watching = watchSource(
    source,
    pollMs,
    async archive => {
      await live.offer(archive)
      tell()
    },
    reason => {
      live.unreachable(reason)
      tell()
    },
  )
  closers.add('watching of the policy', () => watching.stop())
  if (tenants !== undefined) watchTenants(ground, tenants, serve, tell)
  if (counts) {
    metrics.counter(
      'platform_policy_swaps_total',
      'Policy bundles that took the place of another.',
      () => live.status.swaps,
    )
    metrics.counter(
      'platform_policy_bundles_rejected_total',
      'Policy bundles that could not be served.',
      () => live.status.rejected,
    )
  }
  const plane = {
    current: () => current,
    onSwap: (listener: (policy: PreparedPolicy) => void) => void listeners.push(listener),
  }
  return { plane, live, tenants, options }
}

function watchTenants(
  { settings, closers }: Ground,
  tenants: TenantBundles,
  serve: () => void,
  tell: () => void,
): void {
  const folder: BundleSource = {
    name: settings.policy.tenants!,
    async read() {
      if (await tenants.refresh()) serve()
      tell()
      return undefined
    },
  }
  const watching = watchSource(folder, settings.policy.pollMs, async () => {}, tell)
  closers.add('watching of the policies of tenants', () => watching.stop())
}

function sourceOf(bundle: string, { egress }: Ground): BundleSource {
  return /^https?:/.test(bundle) ? httpSource(bundle, egress) : fileSource(bundle)
}

function verifierOf(key: string): ReturnType<typeof jwsVerifier> {
  try {
    return jwsVerifier(key)
  } catch (error) {
    throw new Error(
      `POLICY_KEY is no public key in PEM (${(error as Error).message}); POLICY_KEY_FILE takes a path`,
    )
  }
}
