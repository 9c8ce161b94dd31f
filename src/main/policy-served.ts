/** Serves the bundles that the settings name to one plane: the platform's, the tenants' on top, and whatever takes their place. It decides nothing. */
import { jwsVerifier } from '../identity/verify-jws.ts'
import type { PolicyInput, PreparedPolicy } from '../policy/engine.ts'
import { fileSource } from '../policy/live/file-source.ts'
import { httpSource } from '../policy/live/http-source.ts'
import { LivePolicy, type LivePolicyOptions } from '../policy/live/live-policy.ts'
import { type BundleSource, watchSource } from '../policy/live/source.ts'
import { TenantBundles } from '../policy/live/tenant-bundles.ts'
import { tightened } from '../policy/live/tightened.ts'
import { createOpaHttpEngine } from '../policy/opa-http/engine.ts'
import { createOpaWasmEngine } from '../policy/opa-wasm/engine.ts'
import { createBundleTrial } from '../policy/opa-wasm/trial.ts'
import type { Ground } from './ground.ts'

/** What a plane asks, and how it hears of another policy. */
export interface PlanePolicy {
  readonly current: () => PreparedPolicy
  onSwap(listener: (policy: PreparedPolicy) => void): void
}

export interface Served {
  readonly plane: PlanePolicy
  /** undefined with a policy server: it has its bundles to itself. */
  readonly live: LivePolicy | undefined
  readonly tenants: TenantBundles | undefined
  readonly options: LivePolicyOptions
}

/** @param recent what was asked of late: a new bundle has to prove itself on it. @throws Error naming what cannot be opened */
export async function openServed(ground: Ground, recent: () => readonly PolicyInput[]): Promise<Served> {
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
  const live = await LivePolicy.open(await firstBundle(source), options)
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
  const plane = {
    current: () => current,
    onSwap: (listener: (policy: PreparedPolicy) => void) => void listeners.push(listener),
  }
  return { plane, live, tenants, options }
}

async function firstBundle(source: BundleSource): Promise<Uint8Array> {
  try {
    return (await source.read())!
  } catch (error) {
    throw new Error(`POLICY_BUNDLE cannot be read: ${(error as Error).message}`)
  }
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
