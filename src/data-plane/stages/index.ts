/** Builds the stages of the pipeline, in their order, from the parts that they need. */

import type { ApiKeyVerifier, TokenVerifier } from '../../identity/verifier.ts'
import type { McpSessions } from '../../mcp/client/sessions.ts'
import type { Egress } from '../../net/egress/egress.ts'
import type { BackendTokens } from '../../net/egress/oauth/backend-tokens.ts'
import type { RuledUpstreams } from '../../net/egress/ruled-upstreams.ts'
import type { DecisionObserver } from '../../policy/engine.ts'
import type { Meter } from '../metering/meter.ts'
import type { Peer } from '../pipeline/exchange-parts.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { Quota } from '../quota/quota.ts'
import { admitByTrafficRules } from './1-admit/admit-by-traffic-rules.ts'
import type { Admission } from './1-admit/admit-within-bounds.ts'
import { authenticate } from './2-identify/authenticate.ts'
import { bindSession } from './2-identify/bind-session.ts'
import { refuseGoneApi } from './2-identify/refuse-gone-api.ts'
import { requireSubscription } from './2-identify/require-subscription.ts'
import { resolveTool } from './2-identify/resolve-tool.ts'
import { refuseUnknownTool } from './3-limit/refuse-unknown-tool.ts'
import { takeQuota } from './3-limit/take-quota.ts'
import { askClient } from './4-decide/ask-client.ts'
import { authorize } from './4-decide/authorize.ts'
import { confirmCall } from './4-decide/confirm-call.ts'
import { limitDecision } from './4-decide/limit-decision.ts'
import { matchHeaders } from './4-decide/match-headers.ts'
import { validateArguments } from './4-decide/validate-arguments.ts'
import { beginTask } from './5-invoke/begin-task.ts'
import { invokeProxy, type ProxiedUpstreams } from './5-invoke/invoke-proxy.ts'
import { invokeTool } from './5-invoke/invoke-tool.ts'
import type { LargeTexts } from './5-invoke/large-texts.ts'
import { listTools } from './5-invoke/list-tools.ts'
import type { ResultCache } from './5-invoke/result-cache.ts'
import { type AccessLog, logAccess } from './6-settle/log-access.ts'
import { meterCalls } from './6-settle/meter-call.ts'
import { optimizeResult } from './6-settle/optimize-result.ts'
import { type CallRecorder, recordCall } from './6-settle/record-call.ts'
import { type CallMetrics, recordMetrics } from './6-settle/record-metrics.ts'
import { releaseQuota } from './6-settle/release-quota.ts'

interface StageParts {
  readonly tokens: TokenVerifier
  readonly apiKeys: ApiKeyVerifier | undefined
  readonly quota: Quota
  /** Client address of the client that sent a request, through the trusted proxies or directly. */
  readonly clientAddress: (peer: Peer) => string
  /** For that address. */
  readonly clientNetwork: (peer: Peer) => string
  /** Receives every decision; optional. */
  readonly decisions?: DecisionObserver
  readonly egress: Egress
  /** For APIs with rules for their upstream. */
  readonly upstreams: RuledUpstreams
  readonly proxied: ProxiedUpstreams
  readonly mcpSessions: McpSessions
  readonly backendTokens: BackendTokens
  readonly admission: Admission
  readonly maxResponseBytes: number
  readonly textReplies: boolean
  readonly results: ResultCache
  readonly largeTexts: LargeTexts
  /** Counts for the control plane. */
  readonly usage: Stage
  readonly meter: Meter
  readonly metrics: CallMetrics
  /** Keeps the latest calls for the admin API; optional. */
  readonly calls?: CallRecorder
  readonly accessLog: AccessLog
  /** Share of the successful calls that are logged; all of them when absent. */
  readonly accessLogSample?: number
  /** Makes the spans of calls; optional. */
  readonly traces?: Stage
}

export function stages(parts: StageParts): readonly Stage[] {
  const decide = authorize(parts.decisions)
  const metering = meterCalls(parts.meter)
  return [
    // 1 admit
    parts.admission.enter, // first: refused load must cost as little as possible
    metering.admit, // METERING_DURABILITY=sync: a call whose event cannot be stored must not run
    admitByTrafficRules(), // before the credentials: it costs less, and hides nothing
    // 2 identify
    authenticate(parts.tokens, parts.apiKeys), // before any lookup: an unknown caller must not learn which tools exist
    bindSession(), // needs the principal; a session of another caller is reported as not found
    parts.admission.share, // needs tenant and consumer; before everything that one of them could have the others wait for
    resolveTool(), // needs the tenant, on which the meaning of a tool name depends
    refuseGoneApi(), // before the subscription: a caller without one, too, reads that the API has ended
    requireSubscription(), // needs the API of the tool; before quota, so that refused calls use none
    // 3 limit
    takeQuota(parts.quota, parts.clientNetwork), // before policy: a caller over its limit must not cost an evaluation
    refuseUnknownTool(), // after quota: trying names costs what calls cost
    // 4 decide
    decide, // before the arguments are checked: only permitted callers learn the schema from its errors
    matchHeaders(), // proxies decide by these headers, so they must match the arguments
    validateArguments(), // invalid arguments never reach a backend
    askClient(decide), // questions of the policy; it then decides again with the results
    limitDecision(parts.quota), // rate limits that only the final decision names
    confirmCall(), // after validation and all limits: the user confirms exactly what will run
    // 5 invoke: each handles one kind of operation
    beginTask(), // after every check: a task stands for a call that may run
    listTools(),
    invokeTool(parts),
    invokeProxy(parts.proxied),
    // 6 settle: all run on every exit
    releaseQuota(), // first, so that waiting for the meter does not hold a concurrency slot
    parts.usage,
    optimizeResult(), // before the meter, which records the bytes saved
    metering.settle, // METERING_DURABILITY=sync: the response waits here for the disk
    recordMetrics(parts.metrics),
    ...(parts.calls === undefined ? [] : [recordCall(parts.calls)]),
    ...(parts.traces === undefined ? [] : [parts.traces]),
    logAccess(parts.accessLog, parts.clientAddress, parts.accessLogSample), // its record includes the findings of all stages
    parts.admission.leave, // when the response no longer waits
  ]
}
