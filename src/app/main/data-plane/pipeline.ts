/** Composes the pipeline of one data plane from stages and adapters, and reports failed and slow stages. */

import type { RecordedCalls } from '../../../data-plane/calls/recorded-calls.ts'
import { compose, type Pipeline } from '../../../data-plane/pipeline/compose.ts'
import { addStages, type DeploymentStage } from '../../../data-plane/pipeline/deployment-stage.ts'
import type { Phase, Stage } from '../../../data-plane/pipeline/stage.ts'
import type { ApiCache } from '../../../data-plane/proxy/api-cache/api-cache.ts'
import { type Admission, admitWithinBounds } from '../../../data-plane/stages/1-admit/admit-within-bounds.ts'
import { LargeTexts } from '../../../data-plane/stages/5-invoke/large-texts.ts'
import { ResultCache } from '../../../data-plane/stages/5-invoke/result-cache.ts'
import { UsageCounter } from '../../../data-plane/stages/6-settle/count-usage.ts'
import { stages } from '../../../data-plane/stages/index.ts'
import type { ApiKeyVerifier, TokenVerifier } from '../../../identity/verifier.ts'
import type { McpSessions } from '../../../mcp/client/sessions.ts'
import type { UserTokens } from '../../../net/egress/oauth/user-tokens.ts'
import { clientAddresses, networkOf } from '../../../net/server/client-address.ts'
import { openBackendTokens } from '../backend-tokens.ts'
import { openMcpSessions } from '../mcp-sessions.ts'
import { usageComesFromEvents } from '../metering.ts'
import type { GatewayPolicy } from '../policy.ts'
import type { Traces } from '../traces.ts'
import type { OpenUpstreams } from '../upstreams.ts'
import type { DataPlaneParts } from './parts.ts'

export interface PipelineParts extends Pick<DataPlaneParts, 'context' | 'quota' | 'meter' | 'sessions'> {
  /** See `pagesUrlOf`. */
  readonly pagesUrl: string | undefined
  readonly tokens: TokenVerifier
  readonly apiKeys: ApiKeyVerifier
  readonly policy: GatewayPolicy
  readonly traces: Traces
  readonly calls: RecordedCalls
  readonly upstreams: OpenUpstreams
  readonly responses: ApiCache
  readonly users: UserTokens
  /** For the deployment's own module. */
  readonly ownStages: readonly DeploymentStage[]
}

/** With the parts that are counted, cleared and drained. */
export interface OpenPipeline {
  readonly pipeline: Pipeline
  readonly admission: Admission
  readonly results: ResultCache
  readonly usage: UsageCounter
  readonly phaseOf: (stage: string) => Phase | undefined
  readonly stages: readonly Stage[]
  readonly mcpSessions: McpSessions
}

export function openPipeline(parts: PipelineParts): OpenPipeline {
  const { context, tokens, apiKeys, quota, meter, policy, traces, calls, ownStages, users, pagesUrl } = parts
  const { settings, log, metrics, upstreamEgress: egress } = context
  const results = new ResultCache()
  const largeTexts = new LargeTexts()
  context.closers.add('large results', () => largeTexts.close())
  const mcpSessions = openMcpSessions(context, parts.sessions)
  const backendTokens = openBackendTokens(context, users, pagesUrl, tokens)
  const usage = new UsageCounter(!usageComesFromEvents(settings))
  const admission = admitWithinBounds(settings.maxInFlight)
  const clientAddress = clientAddresses(settings.sse.trustedProxies)
  const builtIn = stages({
    admission,
    tokens,
    apiKeys,
    quota,
    clientAddress,
    clientNetwork: peer => networkOf(clientAddress(peer)),
    egress,
    upstreams: parts.upstreams.ruled,
    proxied: { ...parts.upstreams, cache: parts.responses },
    mcpSessions,
    backendTokens,
    maxResponseBytes: settings.backendResponseMaxBytes,
    textReplies: settings.fastPath,
    results,
    largeTexts,
    usage: usage.stage,
    meter,
    decisions: policy.decisions,
    metrics,
    calls,
    accessLog: { wanted: log.isLevelEnabled('info'), write: record => log.info(record, 'call') },
    accessLogSample: settings.telemetry.accessLogSample,
    ...(traces.stage === undefined ? {} : { traces: traces.stage }),
  })
  const overruns = new Map<string, number>()
  const list = addStages(builtIn, ownStages, ({ id, budgetMs }, ms) => {
    const count = (overruns.get(id) ?? 0) + 1
    overruns.set(id, count)
    // 1, 2, 4, 8, …: a stage that is always late does not fill the log
    if ((count & (count - 1)) === 0)
      log.warn(
        { stage: id, ms: Math.round(ms), budget_ms: budgetMs, count },
        'a custom stage (setting STAGES) blocked its thread for longer than budget_ms',
      )
  })
  const pipeline = compose(
    list,
    (error, stage, exchange) => {
      metrics.bug(stage.id)
      // the outcome of a call is known before its settle stages
      const outcome =
        stage.phase === 'settle' ? 'the response is unaffected' : 'the caller received internal_error'
      log.error(
        { stage: stage.id, request_id: exchange.requestId, err: error },
        `a stage failed with an exception; ${outcome}`,
      )
    },
    exchange => traces.measured(exchange) || calls.details.isWanted(exchange),
  )
  const phases = new Map(list.map(({ id, phase }) => [id, phase]))
  return {
    pipeline,
    admission,
    results,
    usage,
    phaseOf: stage => phases.get(stage),
    stages: list,
    mcpSessions,
  }
}
