/** The stage that invokes tools, resources and prompts: it connects cache, backends, output check, redaction and optimization. */

import { andThen, continueWith, type MaybePending, type MaybePromise } from '../../../base/and-then.ts'
import type { Cancellation } from '../../../base/cancellation.ts'
import type { McpSessions } from '../../../mcp/client/sessions.ts'
import { refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall, type OptimizationLevel } from '../../pipeline/operation.ts'
import type { Outcome, Reply } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'
import { isLargeText, optimizeLargeTexts } from '../shared/token-optimization.ts'
import { NOT_CALLED } from './backend-failure.ts'
import { type BackendParts, callsOfBackend } from './call-backend.ts'
import { callMcpServer } from './call-mcp-server.ts'
import { documentFeature } from './document-feature.ts'
import type { LargeTexts } from './large-texts.ts'
import { redactedPaths, redactOutcome } from './redact-result.ts'
import { ResponseSizes } from './response-sizes.ts'
import type { ResultCache } from './result-cache.ts'

const ALLOWED: Reply = Object.freeze({ kind: 'reply', result: { content: [], isError: false }, served: {} })

interface InvokeParts extends BackendParts {
  readonly mcpSessions: McpSessions
  readonly results: ResultCache
  readonly largeTexts: LargeTexts
}

export function invokeTool(parts: InvokeParts): Stage {
  const { mcpSessions, results: cache, largeTexts } = parts
  const sizes = new ResponseSizes()
  const callBackend = callsOfBackend(parts, sizes)
  const callServer = callMcpServer(mcpSessions, parts, sizes)

  function serveDocument(
    document: NonNullable<NonNullable<Exchange['tool']>['document']>,
    exchange: Exchange,
  ): MaybePending<Outcome> {
    return documentFeature(document, exchange, () => cache.respond(exchange, checkedCall))
  }

  // apart from the stage: a function with a closure allocates a scope whenever it is called
  function redact(
    exchange: Exchange,
    paths: NonNullable<ReturnType<typeof redactedPaths>>,
    response: MaybePending<Outcome>,
  ): MaybePending<Outcome> {
    const owner = ownerOf(exchange)
    return continueWith(response, outcome =>
      redactOutcome(outcome, paths, text => largeTexts.rewrite(owner, text, { paths })),
    )
  }

  function optimize(
    exchange: Exchange,
    level: Exclude<OptimizationLevel, 'none'>,
    response: MaybePending<Outcome>,
  ): MaybePending<Outcome> {
    const owner = ownerOf(exchange)
    return continueWith(response, outcome => {
      if (outcome?.kind !== 'reply' || !outcome.result.content.some(isLargeText)) return outcome
      const shorten = (text: string) => largeTexts.rewrite(owner, text, { level })
      return optimizeLargeTexts(outcome.result, level, shorten).then(() => outcome)
    })
  }

  /** With the check of structured content, for every kind of backend. A tool without one adds no promise. */
  function checkedCall(exchange: Exchange, cancellation: Cancellation): MaybePending<Outcome> {
    const { tool, mcp, validateOutput } = exchange.tool!
    const expected = sizes.expectedBytes(tool)
    if (expected > 0 && exchange.budget?.reserve(expected) === false) return NOT_CALLED
    const called =
      mcp === undefined ? callBackend(exchange, cancellation) : callServer(exchange, cancellation)
    if (validateOutput === undefined) return called
    return checkOutput(called, validateOutput, mcp === undefined ? undefined : 'has no structured content')
  }

  function checkOutput(
    called: MaybePending<Outcome>,
    validateOutput: NonNullable<NonNullable<Exchange['tool']>['validateOutput']>,
    missing: string | undefined,
  ): MaybePending<Outcome> {
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
      if (document !== undefined) return serveDocument(document, exchange)
      const response = cache.respond(exchange, checkedCall)
      const redacted = redactedPaths(exchange)
      const visible = redacted === undefined ? response : redact(exchange, redacted, response)
      const { optimization: level = 'none' } = exchange.operation
      return level === 'none' ? visible : optimize(exchange, level, visible)
    },
  }
}

/** For which texts are rewritten: none waits for those of another. */
function ownerOf({ tool }: Exchange): string {
  return tool!.tool.tenant ?? tool!.tool.toolSet
}

const MAX_FAULTS = 5

/**
 * @param missing says what is wrong with a response that has none
 * @returns the same reply, or an error of the tool that keeps the text: clients check no structured content of an error
 */
function checkedOutput(
  reply: Reply,
  validate: NonNullable<CompiledTool['validateOutput']>,
  missing = 'is not JSON',
): MaybePromise<Reply> {
  const { isError, structuredContent } = reply.result
  if (isError) return reply
  if (structuredContent === undefined) return withoutStructure(reply, missing)
  return andThen(validate(structuredContent), outcome => {
    if (typeof outcome === 'string') return withoutStructure(reply, 'could not be checked in time')
    if (outcome.length === 0) return reply
    const faults = outcome.slice(0, MAX_FAULTS).map(({ path, message }) => `${path || '/'} ${message}`)
    return withoutStructure(reply, `does not match the outputSchema of the tool: ${faults.join('; ')}`)
  })
}

function withoutStructure(reply: Reply, reason: string): Reply {
  const { structuredContent: _, ...result } = reply.result
  const text = `The call succeeded, but its response ${reason}. The response follows as text.`
  return {
    ...reply,
    result: { ...result, content: [{ type: 'text', text }, ...result.content], isError: true },
  }
}
