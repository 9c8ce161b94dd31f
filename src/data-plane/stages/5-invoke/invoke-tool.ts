/**
 * The stage that invokes tools, resources and prompts: it connects cache, backends, output check, redaction and optimization. It
 * implements no backend protocol.
 */

import { continueWith, type MaybePending } from '../../../shared/call/and-then.ts'
import type { Cancellation } from '../../../shared/call/cancellation.ts'
import { refuse } from '../../../shared/call/refusal.ts'
import type { McpSessions } from '../../../shared/mcp-client/sessions.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { isLargeText, optimizeLargeTexts } from '../shared/token-optimization.ts'
import { type BackendParts, callsOfBackend } from './call-backend.ts'
import { callMcpServer } from './call-mcp-server.ts'
import { documentFeature } from './document-feature.ts'
import type { LargeTexts } from './large-texts.ts'
import { checkedOutput } from './output-check.ts'
import { redactedPaths, redactOutcome } from './redact-result.ts'
import type { ResultCache } from './result-cache.ts'

const ALLOWED: Reply = Object.freeze({ kind: 'reply', result: { content: [], isError: false }, served: {} })

interface InvokeParts extends BackendParts {
  readonly mcpSessions: McpSessions
  readonly results: ResultCache
  readonly largeTexts: LargeTexts
}

export function invokeTool(parts: InvokeParts): Stage {
  const { mcpSessions, backendTokens, maxResponseBytes, results: cache, largeTexts } = parts
  const callBackend = callsOfBackend(parts)
  const callServer = callMcpServer(mcpSessions, backendTokens, maxResponseBytes)

  /** With the check of structured content, for every kind of backend. A tool without one adds no promise. */
  function checkedCall(exchange: Exchange, cancellation: Cancellation): MaybePending<Outcome> {
    const { mcp, validateOutput } = exchange.tool!
    const called =
      mcp === undefined ? callBackend(exchange, cancellation) : callServer(exchange, cancellation)
    if (validateOutput === undefined) return called
    const missing = mcp === undefined ? undefined : 'has no structured content'
    return continueWith(called, outcome =>
      outcome?.kind === 'reply' ? checkedOutput(outcome, validateOutput, missing) : outcome,
    )
  }

  return {
    id: 'invoke-tool',
    phase: 'invoke',
    run(exchange) {
      if (!isCall(exchange.operation)) return undefined
      if (exchange.cancellation.cancelled) return refuse('cancelled')
      // the endpoint watches the resource; all that was to be decided is decided
      if (exchange.operation.subscribes === true) return ALLOWED
      const { document } = exchange.tool!
      if (document !== undefined)
        return documentFeature(document, exchange, () => cache.respond(exchange, checkedCall))
      const response = cache.respond(exchange, checkedCall)
      const redacted = redactedPaths(exchange)
      const owner = exchange.tool!.tool.tenant ?? exchange.tool!.tool.toolSet
      const visible =
        redacted === undefined
          ? response
          : continueWith(response, outcome =>
              redactOutcome(outcome, redacted, text => largeTexts.rewrite(owner, text, { paths: redacted })),
            )
      const { optimization: level = 'none' } = exchange.operation
      if (level === 'none') return visible
      return continueWith(visible, outcome => {
        if (outcome?.kind !== 'reply' || !outcome.result.content.some(isLargeText)) return outcome
        const shorten = (text: string) => largeTexts.rewrite(owner, text, { level })
        return optimizeLargeTexts(outcome.result, level, shorten).then(() => outcome)
      })
    },
  }
}
