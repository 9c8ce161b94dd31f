/**
 * The interface of a data plane, and the data plane of one thread, which it opens and connects from parts such as identity, policy, snapshot and
 * pipeline.
 */

import { runInSlices } from '../../base/async/slices.ts'
import { ArgumentChecker } from '../../base/json-schema/argument-check.ts'
import { VERSION } from '../../base/version.ts'
import type { EveryThread, ThreadSignals } from '../../data-plane/calls/process-calls.ts'
import { accessCheck } from '../../data-plane/http/access-check.ts'
import { AccessWatch } from '../../data-plane/http/access-watch.ts'
import { callerListing } from '../../data-plane/http/caller-listing.ts'
import type { GatewayParts } from '../../data-plane/http/gateway.ts'
import { waitingFor } from '../../data-plane/http/health.ts'
import { listingChanges } from '../../data-plane/http/listing-changes.ts'
import { createKernel } from '../../data-plane/kernel/create.ts'
import { ApiCache } from '../../data-plane/proxy/api-cache/api-cache.ts'
import { SnapshotCompiler } from '../../data-plane/snapshot/compile.ts'
import type { Deliver } from '../../data-plane/snapshot/gateway-configuration.ts'
import { SnapshotHolder } from '../../data-plane/snapshot/holder.ts'
import { keyLookup } from '../../data-plane/snapshot/key-records.ts'
import type { Snapshot } from '../../data-plane/snapshot/snapshot.ts'
import { verifyCredentials } from '../../data-plane/stages/2-identify/authenticate.ts'
import { requireSubscription } from '../../data-plane/stages/2-identify/require-subscription.ts'
import { authorize } from '../../data-plane/stages/4-decide/authorize.ts'
import { listTools } from '../../data-plane/stages/5-invoke/list-tools.ts'
import type { UsageDelta } from '../../data-plane/stages/6-settle/count-usage.ts'
import { prepareTool } from '../../data-plane/tool-request/prepare-tool.ts'
import { createApiKeyVerifier } from '../../identity/api-keys.ts'
import { heldBytes as shareBytes } from '../../net/held-bytes.ts'
import { MAX_REQUEST_BODY_BYTES } from './app-context.ts'
import { openUserTokens } from './connections.ts'
import { loadStages } from './data-plane/deployment-stages.ts'
import { Drain } from './data-plane/drain.ts'
import { openAttemptLimits, openHttp } from './data-plane/http.ts'
import { registerMetrics, showSessions } from './data-plane/metrics.ts'
import type { DataPlaneParts } from './data-plane/parts.ts'
import { openPipeline } from './data-plane/pipeline.ts'
import { onlyThread, openRecordedCalls, threadSignals } from './data-plane/signals.ts'
import { withGatewayPages } from './gateway-pages.ts'
import { openVerifier } from './identity.ts'
import { addressOf } from './local-address.ts'
import { MemoryWatch } from './memory-watch.ts'
import { gatewayPages, pagesUrlOf } from './pages.ts'
import { openGatewayPolicy } from './policy.ts'
import { gatewayMarks } from './session-marks.ts'
import { openTraces } from './traces.ts'
import { openUpstreams } from './upstreams.ts'

/** From the first snapshot on: the thread is ready by then. */
const WARM_UP_AFTER_MS = 100

export interface DataPlane {
  /** Threads that serve calls. */
  readonly workers: number
  /** Compiles and serves a document. @returns why it was refused; the previous snapshot then stays */
  readonly apply: Deliver
  status(): 'online' | 'degraded' | 'draining'
  /** What `/ready` waits for; empty when it responds 200. */
  waitingFor(): readonly string[] | Promise<readonly string[]>
  /** Opens the port, which may be open already. @throws Error naming the setting when it is taken */
  listen(): Promise<void>
  /** Readiness off, for `SHUTDOWN_DELAY`: calls are still accepted and served. */
  announceDrain(): void
  /** Calls and state of all threads. */
  readonly everyThread: EveryThread
  /** Calls and state of this thread. */
  readonly signals?: ThreadSignals
  /** The counts since the previous call. */
  takeUsage(): UsageDelta
  /** Readiness off, no new connection, streams ended, calls in flight completed until `untilMs` (Unix ms). Never rejects. */
  drain(untilMs: number): Promise<void>
}

export async function startDataPlane(plane: DataPlaneParts): Promise<DataPlane> {
  const { context, server } = plane
  const { sessions } = plane.sessions
  const pagesUrl = pagesUrlOf(context.settings, server.port)
  const tokens = openVerifier(context, plane.issuer, plane.gatewayUrl)
  const traces = await openTraces(context, plane.gatewayUrl)
  const policy = await openGatewayPolicy(context, plane.policyOwner)
  context.closers.add('sessions', () => sessions.close())

  const checker = new ArgumentChecker()
  context.closers.add('argument checks', () => checker.close())
  const compiler = new SnapshotCompiler(tool => prepareTool(tool, checker))
  const snapshot = new SnapshotHolder(async document => {
    const make = await runInSlices(compiler.compileSteps(document))
    return () => make(policy.current())
  })
  policy.onSwap(next => snapshot.adopt(next))
  const apiKeys = createApiKeyVerifier({ lookup: keyLookup(() => snapshot.current) })
  const ownStages = await loadStages(context.settings.stages)
  const calls = openRecordedCalls(context, plane.thread ?? 1)
  const responses = new ApiCache(context.clock.now)
  const upstreams = openUpstreams(context, plane.thread ?? 1)
  const users = openUserTokens(context)
  const identified = {
    ...plane,
    pagesUrl,
    users,
    tokens,
    apiKeys,
    policy,
    traces,
    calls,
    ownStages,
    upstreams,
    responses,
  }
  const { pipeline, admission, results, usage, phaseOf, stages, mcpSessions } = openPipeline(identified)
  const drain = new Drain()
  const syncPolicy = plane.policyOwner?.sync
  const fault = (): string | undefined => snapshot.lastFault ?? context.conditions.summary
  const { kernel } = createKernel()
  const heldBytes = shareBytes(context.settings.heldBytesMax, plane.heldBytes, plane.thread)
  const memory = new MemoryWatch({
    onChange(fault) {
      heldBytes.isClosed = fault !== undefined
      context.conditions.set('memory', fault)
      if (fault !== undefined) context.log.error({ part: 'memory' }, fault)
    },
  })
  context.closers.add('memory watch', () => memory.close())
  const limits = openAttemptLimits(context, kernel)
  const listingOf = callerListing(listTools())
  const check = accessCheck({ requireSubscription: requireSubscription(), authorize: authorize(), listingOf })
  const current = (): Snapshot | undefined => {
    syncPolicy?.()
    return snapshot.current
  }
  const gateway: GatewayParts = {
    pipeline,
    snapshot: current,
    snapshotFault: () => snapshot.lastFault,
    faultyParts: () => context.conditions.parts,
    keysReady: () => tokens.ready,
    draining: () => drain.announced,
    memoryFull: () => memory.isFull,
    sessions,
    serverSessions: mcpSessions,
    access: new AccessWatch({ check, snapshot: current, nowMs: context.clock.now }),
    ...limits,
    url: plane.gatewayUrl,
    pages: gatewayPages(context.settings, server.port, plane.apiUrl),
    name: 'toolgate',
    version: VERSION,
    presentation: context.settings.presentation,
    maxBodyBytes: MAX_REQUEST_BODY_BYTES,
    heldBytes,
    maxResultBytes: context.settings.resultMaxBytes,
    taskLimits: context.settings.tasks,
    listingOf: caller => listingOf(caller, caller.snapshot, 'tools.list'),
    verifyCredentials: verifyCredentials(tokens, apiKeys),
    nowMs: context.clock.now,
    log: context.log,
  }
  const caches = {
    api_keys: () => apiKeys.clearCache(),
    tokens: () => tokens.clearCache(),
    decisions: () => policy.current().clearCache(),
    results: () => results.clear(),
    responses: () => responses.clear(),
    quota_statistics: () => 0,
  }
  const status = (): 'online' | 'degraded' | 'draining' =>
    drain.announced ? 'draining' : fault() === undefined ? 'online' : 'degraded'
  const signals = threadSignals(calls, context.clock.now, () => ({
    status: status(),
    reason: fault() ?? null,
    snapshot: snapshot.current?.version ?? null,
    policy_revision: policy.current().revision,
    tools: snapshot.current?.toolCount ?? 0,
    in_flight: admission.inFlight(),
    streams: mcp.openStreams,
  }))
  const everyThread = plane.siblings?.every ?? onlyThread(signals)
  const { router, mcp, callStreams } = openHttp({
    plane,
    gateway,
    policy,
    caches,
    kernel,
    everyThread,
    upstreams,
    responses,
    phaseOf,
    stages,
  })
  const changes = listingChanges(listingOf)
  snapshot.onSwap((next, previous) => {
    // a key that was revoked, or whose subscription was, must not stay in the cache
    apiKeys.clearCache()
    router.load(next)
    if (previous === undefined) checker.warmUpIn(WARM_UP_AFTER_MS)
    else void mcp.announce(previous, next, changes)
  })
  const gatewayAddress = addressOf(context.settings.gateway, server.port)
  const withPages = withGatewayPages(
    context,
    {
      users,
      marks: gatewayMarks(context),
      gatewayAddress,
      pagesUrl,
      verifier: tokens,
      gatewayUrl: plane.gatewayUrl,
      snapshot: () => snapshot.current,
    },
    router.handler,
  )
  server.handle(withPages)
  registerMetrics(context, {
    worker: calls.ring.worker,
    snapshot,
    results,
    responses,
    policy,
    mcp,
    admission,
    heldBytes,
    attempts: limits.attempts,
  })
  showSessions(context, sessions)

  return {
    workers: 1,
    apply: document => snapshot.publish(document),
    status,
    everyThread,
    signals,
    waitingFor: () => waitingFor(gateway),
    listen: () => server.listen(),
    announceDrain() {
      drain.announce()
      // clients that keep connections open move to another instance
      server.listener.closeAfterResponses()
    },
    takeUsage: () => usage.take(),
    drain: untilMs => drain.run({ ...plane, admission, mcp, callStreams }, untilMs),
  }
}
