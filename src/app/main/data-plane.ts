/**
 * The data plane of one thread: identity, policy, snapshot, pipeline and HTTP. Configuration arrives as changes and usage leaves as
 * rows, both plain data, so it runs in the main thread or behind a message port. It opens no store and no tool source.
 */
import type { GatewayParts } from '../../data-plane/http/gateway.ts'
import { listingChanges } from '../../data-plane/http/listing-changes.ts'
import { keyLookup } from '../../data-plane/snapshot/key-records.ts'
import { listTools } from '../../data-plane/stages/5-invoke/list-tools.ts'
import type { UsageDelta } from '../../data-plane/stages/6-settle/count-usage.ts'
import type { SnapshotChange } from '../../link/change.ts'
import { createApiKeyVerifier } from '../../shared/identity/api-keys.ts'
import { VERSION } from '../../shared/version.ts'
import { MAX_BODY_BYTES } from './app-context.ts'
import { Drain } from './data-plane/drain.ts'
import { openHttp } from './data-plane/http.ts'
import { registerMetrics } from './data-plane/metrics.ts'
import type { DataPlaneParts } from './data-plane/parts.ts'
import { openPipeline } from './data-plane/pipeline.ts'
import { ServedSnapshot } from './data-plane/served-snapshot.ts'
import { openVerifier } from './identity.ts'
import { openGatewayPolicy } from './policy.ts'
import { showSessions } from './session-gauges.ts'
import { openTraces } from './traces.ts'

export interface DataPlane {
  /** Threads that serve calls. */
  readonly workers: number
  /** Compiles and serves a change. @returns why the change was refused; the previous snapshot then stays */
  apply(change: SnapshotChange): string | undefined | Promise<string | undefined>
  status(): 'online' | 'degraded' | 'draining'
  /** The counts since the previous call. */
  takeUsage(): UsageDelta
  /** Readiness off, no new connection, streams ended, calls in flight completed until `untilMs` (Unix ms). Never rejects. */
  drain(untilMs: number): Promise<void>
}

export async function startDataPlane(plane: DataPlaneParts): Promise<DataPlane> {
  const { context, server } = plane
  const { sessions } = plane.sessions
  const tokens = openVerifier(context, plane.issuer, plane.gatewayUrl)
  const traces = await openTraces(context)
  const policy = await openGatewayPolicy(context, plane.policyOwner)
  context.closers.add('sessions', () => sessions.close())

  const snapshot = new ServedSnapshot(policy)
  const apiKeys = createApiKeyVerifier({ lookup: keyLookup(() => snapshot.current) })
  const { pipeline, admission, results, usage } = openPipeline({ ...plane, tokens, apiKeys, policy, traces })
  const drain = new Drain()
  const syncPolicy = plane.policyOwner?.sync
  const fault = (): string | undefined => snapshot.fault ?? context.conditions.summary
  const gateway: GatewayParts = {
    pipeline,
    snapshot: () => {
      syncPolicy?.()
      return snapshot.current
    },
    snapshotFault: fault,
    keysReady: () => tokens.ready,
    draining: () => drain.started,
    sessions,
    url: plane.gatewayUrl,
    name: 'toolgate',
    version: VERSION,
    maxBodyBytes: MAX_BODY_BYTES,
    nowMs: context.clock.now,
  }
  const caches = {
    api_keys: () => apiKeys.forget(),
    tokens: () => tokens.forget(),
    decisions: () => policy.current().forget(),
    results: () => results.clear(),
    quota_statistics: () => 0,
  }
  const { router, mcp } = openHttp({ plane, gateway, policy, caches })
  const changes = listingChanges(listTools())
  snapshot.onSwap((next, previous) => {
    // a key that was revoked, or whose subscription was, must not stay in the cache
    apiKeys.forget()
    router.load(next)
    if (previous !== undefined) void mcp.announce(previous, next, changes)
  })
  server.handle(router.handler)
  registerMetrics(context, { snapshot, results, policy, mcp, admission })
  showSessions(context, sessions)

  return {
    workers: 1,
    apply: change => snapshot.apply(change),
    status: () => (drain.started ? 'draining' : fault() === undefined ? 'online' : 'degraded'),
    takeUsage: () => usage.take(),
    drain: untilMs => drain.run({ ...plane, admission, mcp }, untilMs),
  }
}
