/** The ordered list of stages, each line with its reason. Adding a stage: its file, one line here, its refusals in the table, its test, its bench. */

import type { Egress } from '../../shared/egress/egress.ts'
import type { ApiKeyVerifier, TokenVerifier } from '../../shared/identity/verifier.ts'
import type { DecisionObserver } from '../../shared/policy/engine.ts'
import type { Meter } from '../metering/meter.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { Quota } from '../quota/quota.ts'
import type { Admission } from './1-admit/admit-within-bounds.ts'
import { authenticate } from './2-identify/authenticate.ts'
import { bindSession } from './2-identify/bind-session.ts'
import { requireSubscription } from './2-identify/require-subscription.ts'
import { resolveTool } from './2-identify/resolve-tool.ts'
import { takeQuota } from './3-limit/take-quota.ts'
import { askClient } from './4-decide/ask-client.ts'
import { authorize } from './4-decide/authorize.ts'
import { confirmCall } from './4-decide/confirm-call.ts'
import { limitDecision } from './4-decide/limit-decision.ts'
import { matchHeaders } from './4-decide/match-headers.ts'
import { validateArguments } from './4-decide/validate-arguments.ts'
import { invokeProxy } from './5-invoke/invoke-proxy.ts'
import { invokeTool } from './5-invoke/invoke-tool.ts'
import { listTools } from './5-invoke/list-tools.ts'
import type { ResultCache } from './5-invoke/result-cache.ts'
import { type AccessLog, logAccess } from './6-settle/log-access.ts'
import { meterCalls } from './6-settle/meter-call.ts'
import { optimizeResult } from './6-settle/optimize-result.ts'
import { type CallMetrics, recordMetrics } from './6-settle/record-metrics.ts'
import { releaseQuota } from './6-settle/release-quota.ts'

export interface StageParts {
  readonly tokens: TokenVerifier
  readonly apiKeys: ApiKeyVerifier | undefined
  readonly quota: Quota
  /** Is told of every decision; absent: nobody is. */
  readonly decisions?: DecisionObserver
  readonly egress: Egress
  readonly admission: Admission
  readonly maxResponseBytes: number
  readonly results: ResultCache
  /** Counts for the control plane. */
  readonly usage: Stage
  readonly meter: Meter
  readonly metrics: CallMetrics
  readonly accessLog: AccessLog
  /** Share of the successful calls that are logged; all of them when absent. */
  readonly accessLogSample?: number
  /** Makes spans of calls; absent: nobody does. */
  readonly traces?: Stage
}

export function stages(parts: StageParts): readonly Stage[] {
  const decide = authorize(parts.decisions)
  const metering = meterCalls(parts.meter)
  return [
    parts.admission.enter, //                      first: what we cannot hold must cost nothing
    metering.admit, //                       with `sync`, what cannot be counted must not be done
    authenticate(parts.tokens, parts.apiKeys), // nothing is told to somebody unknown, not even that a tool exists
    bindSession(), // a session of somebody else does not exist
    resolveTool(), //                        after authentication: which tool a name means depends on the tenant
    requireSubscription(), // who has no business here must not use up anybody's quota
    takeQuota(parts.quota), //               before policy: a refused caller must not cost an evaluation
    decide, //                               before arguments are looked at: a schema is told only to those who may call
    matchHeaders(), //                       what proxies were told must be what is called
    validateArguments(), //                  nothing that does not fit reaches a backend
    askClient(decide), // asked for what the policy still wants to know; it decides again
    limitDecision(parts.quota), //           a rate that only the last word of the policy could name
    confirmCall(), // asked about arguments that are known to fit, just before they are used
    listTools(),
    invokeTool(parts.egress, parts.maxResponseBytes, parts.results),
    invokeProxy(),
    releaseQuota(), //                       settle: on every exit
    parts.admission.leave,
    parts.usage,
    optimizeResult(), //                     before the meter, which records the bytes saved
    metering.settle, //                      with `sync`, the answer waits here for the disk
    recordMetrics(parts.metrics),
    ...(parts.traces === undefined ? [] : [parts.traces]),
    logAccess(parts.accessLog, parts.accessLogSample), //           last: it tells what all the others found
  ]
}
