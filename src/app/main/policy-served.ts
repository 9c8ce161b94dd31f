/**
 * Owns the policy bundles of a process: their sources, trials, changes and status; also opens the client of a policy server. It decides about no
 * call.
 */
import { join } from 'node:path'
import { oncePer } from '../../base/once-per.ts'
import { jwsVerifier } from '../../identity/verify-jws.ts'
import { presentText } from '../../net/tls/client-tls.ts'
import type { PolicyInput, PreparedPolicy } from '../../policy/engine.ts'
import { bundleSource } from '../../policy/live/bundle-source.ts'
import { type Candidate, openCandidate } from '../../policy/live/candidate.ts'
import { BundleDistribution, type Joined, type Member } from '../../policy/live/distribution.ts'
import { type BundleChange, PLATFORM } from '../../policy/live/follower.ts'
import { LivePolicy, type LivePolicyOptions } from '../../policy/live/live-policy.ts'
import { type BundleSource, watchSource } from '../../policy/live/source.ts'
import { TenantBundles } from '../../policy/live/tenant-bundles.ts'
import { tighten } from '../../policy/live/tightened.ts'
import { createOpaHttpEngine } from '../../policy/opa-http/engine.ts'
import { createOpaWasmEngine } from '../../policy/opa-wasm/engine.ts'
import { createBundleTrial } from '../../policy/opa-wasm/trial.ts'
import type { AppContext } from './app-context.ts'

/** The policy that a plane evaluates, and its changes. */
export interface PlanePolicy {
  readonly current: () => PreparedPolicy
  onSwap(listener: (policy: PreparedPolicy) => void): void
}

/** The source of a plane's bundles: the owner in the same thread, or behind a port. */
export interface PolicyOwner {
  join(member: Member): Promise<Joined>
  /** If another thread may activate a bundle: activates what is already active in the process. Called before each request. */
  readonly sync?: () => void
  /** For operators; the same in every thread. */
  status(): object | Promise<object>
  /** @returns why the candidate was not promoted; undefined when it now serves */
  promote(): Promise<string | undefined>
}

/** What the other threads need of the owner. */
export interface ServedPolicyOwner extends PolicyOwner {
  /** The policy of the control plane. A gateway joins with a separate one, because its resources have other numbers. */
  readonly plane: PlanePolicy
  /** See `BundleDistribution`. */
  readonly epoch: SharedArrayBuffer
  leave(member: Member): void
  /** Adds recent inputs that a new bundle is tried on. */
  alsoTryOn(recent: () => readonly PolicyInput[]): void
}

export interface OpenPolicyOwner extends ServedPolicyOwner {
  readonly live: LivePolicy
  readonly candidate: Candidate
  /** With which bundles are tried and prepared. */
  readonly options: LivePolicyOptions
}

/** The one of the process. @throws Error naming what cannot be opened */
export const policyOwner = oncePer(openOwner)

/** Prepares bundles for one plane. */
export function preparerOf({ log, metrics }: AppContext): Pick<LivePolicyOptions, 'prepare'> {
  const wasm = createOpaWasmEngine({ log, onFailure: failure => metrics.policyFailed(failure) })
  return { prepare: archive => wasm.prepare(archive) }
}

const NO_DECISIONS =
  'the policy server does not return decisions, so calls are refused. Check POLICY_URL and the log of the policy server'

/** The policy of a policy server, which keeps its own bundles. */
export async function openPolicyServer({
  settings,
  egress,
  log,
  closers,
  metrics,
  conditions,
}: AppContext): Promise<PlanePolicy> {
  const onFailure = (failure: string): void => metrics.policyFailed(failure)
  const engine = createOpaHttpEngine({
    url: settings.policy.url!,
    egress,
    log,
    onFailure,
    onAvailable: available => conditions.set('policy server', available ? undefined : NO_DECISIONS),
  })
  const server = await engine.prepare(new Uint8Array())
  closers.add('policy', () => server.close())
  return { current: () => server, onSwap: () => {} }
}

async function openOwner(context: AppContext): Promise<OpenPolicyOwner> {
  const { settings, egress, log, closers, metrics, conditions } = context
  const { bundle, shadow, pollMs, maxFlips, key, token, tenants: tenantsDir } = settings.policy
  const sourceAt = (address: string): BundleSource =>
    bundleSource(address, egress, token && (() => presentText(token)))
  const epoch = new SharedArrayBuffer(4)
  const distribution = new BundleDistribution(epoch)
  const trial = createBundleTrial()
  closers.add('trial of policies', () => trial.close())
  const alsoRecent: (() => readonly PolicyInput[])[] = []
  async function recent(): Promise<PolicyInput[]> {
    const inputs = [...distribution.members.map(member => member.recent()), ...alsoRecent.map(ask => ask())]
    // a thread that has ended has no inputs
    return (await Promise.all(inputs.map(async some => some).map(some => some.catch(() => [])))).flat()
  }
  const options: LivePolicyOptions = {
    ...preparerOf(context),
    trial: async archive => trial.run(archive, await recent()),
    ...(key === undefined ? {} : { verify: verifierOf(key) }),
    log,
  }

  const listeners: ((policy: PreparedPolicy) => void)[] = []
  const together = (change: BundleChange, activate: () => void): Promise<void> =>
    distribution.swap(change, () => {
      activate()
      current = compose()
      for (const listener of listeners) listener(current)
    })
  const source = sourceAt(bundle)
  const first = await firstBundle(source)
  const live = await LivePolicy.open(first, {
    ...options,
    together: (next, activate) => together({ slot: PLATFORM, bundle: next }, activate),
  })
  closers.add('policy', () => live.close())
  distribution.begin(PLATFORM, first)
  const compose = (): PreparedPolicy => tighten(live.current.policy, tenants?.policies ?? new Map())
  const tenants =
    tenantsDir === undefined
      ? undefined
      : new TenantBundles(tenantsDir, { ...options, trialFirst: true }, together)
  let current = compose()
  if (tenants !== undefined) {
    closers.add('policies of tenants', () => tenants.close())
    await tenants.refresh()
  }
  const report = (): void => {
    conditions.set('policy', live.status.fault)
    conditions.set('policies of tenants', tenants?.fault)
  }
  report()
  const watching = watchSource(
    source,
    pollMs,
    async archive => {
      const taken = (await live.offer(archive)) !== 'rejected'
      report()
      return taken
    },
    reason => {
      live.unreadable(reason)
      report()
    },
  )
  closers.add('watcher of the policy bundle', () => watching.stop())
  if (tenants !== undefined) watchTenants(context, tenants, report)
  const candidate = openCandidate({
    ...{ live, options, distribution, pollMs, maxFlips, liveFile: bundle },
    path: shadow ?? join(settings.dataDir, 'policy', 'candidate.tar.gz'),
    source: shadow === undefined ? undefined : sourceAt(shadow),
  })
  closers.add('candidate policy', () => candidate.stop())
  metrics.read('platform_policy_swaps_total', () => live.status.swaps)
  metrics.read('platform_policy_bundles_rejected_total', () => live.status.rejected)
  return {
    plane: { current: () => current, onSwap: listener => void listeners.push(listener) },
    epoch,
    join: member => distribution.join(member),
    leave: member => distribution.leave(member),
    alsoTryOn: ask => void alsoRecent.push(ask),
    async status() {
      const { since, swaps, rejected, fault } = live.status
      const { retry } = watching
      return {
        since: new Date(since).toISOString(),
        swaps,
        rejected,
        ...(fault === undefined ? {} : { fault }),
        ...(fault === undefined || retry === undefined
          ? {}
          : { attempts: retry.attempts, next_attempt_at: new Date(retry.nextAttemptAt).toISOString() }),
        ...(tenants === undefined ? {} : { tenants: tenants.status }),
        candidate: await candidate.status(),
      }
    },
    promote: () => candidate.promote(),
    live,
    candidate,
    options,
  }
}

async function firstBundle(source: BundleSource): Promise<Uint8Array> {
  try {
    return (await source.read())!
  } catch (error) {
    throw new Error(`POLICY_BUNDLE cannot be read: ${(error as Error).message}`)
  }
}

function watchTenants(
  { settings, closers, conditions }: AppContext,
  tenants: TenantBundles,
  report: () => void,
): void {
  const folder: BundleSource = {
    name: settings.policy.tenants!,
    async read() {
      await tenants.refresh()
      report()
      return undefined
    },
  }
  const onFault = (reason: string | undefined): void =>
    conditions.set('policies of tenants', reason ?? tenants.fault)
  const watching = watchSource(folder, settings.policy.pollMs, async () => true, onFault)
  closers.add('watcher of the policies of tenants', () => watching.stop())
}

function verifierOf(key: string): ReturnType<typeof jwsVerifier> {
  try {
    return jwsVerifier(key)
  } catch (error) {
    throw new Error(
      `POLICY_KEY is not a public key in PEM format (${(error as Error).message}). If the key is in a file, set POLICY_KEY_FILE to the path of that file`,
    )
  }
}
