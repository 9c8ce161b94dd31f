/** The report on a tool for operators, its estimate of tokens, and the interface for reviews of tools and views. */
import { shownFigures } from '../../link/call-summary.ts'
import type { Figures } from '../../model/call-figures.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolView, ViewFigures } from '../../model/tool-view.ts'
import { originOf } from '../../model/upstream-url.ts'
import { definitionTokens } from '../listing/tool-view.ts'
import type { CompiledTool } from '../snapshot/snapshot.ts'

/** Findings about a tool or a view that need knowledge from outside the data plane. */
export interface ToolReview {
  /** What a view costs and which clients cannot use it whole. */
  viewNotes(view: ToolView, figures: ViewFigures): readonly string[]
  /** What agents may misread. */
  lint(tool: Tool): readonly { readonly rule: string; readonly message: string; readonly fix: string }[]
  /** Clients that do not accept the name. */
  nameLimits(
    name: string,
  ): readonly { readonly client: string; readonly length: number; readonly limit: number }[]
}

/** Estimate of the tokens that the listed definition costs a model. */
export function tokensOf({ tool }: CompiledTool): number {
  return definitionTokens(tool)
}

export function toolReport(entry: CompiledTool, figures: Figures, review: ToolReview): object {
  const { tool } = entry
  return {
    name: tool.name,
    title: tool.title ?? null,
    description: tool.description,
    toolset: tool.toolSet,
    namespace: tool.namespace,
    tenant: tool.tenant,
    api_id: tool.apiId ?? null,
    operation: tool.operation,
    method: tool.request.method,
    // without path: it may hold what only the backend should see
    backend: originOf(tool.request.baseUrl) ?? null,
    annotations: tool.annotations,
    tags: tool.tags,
    input_schema: tool.inputSchema,
    timeout_ms: tool.timeoutMs,
    cache_ttl_ms: tool.cache?.ttlMs ?? null,
    rate_limit: tool.rateLimit ?? null,
    ...shownFigures(figures),
    tokens: tokensOf(entry),
    name_length: tool.name.length,
    name_limits: review.nameLimits(tool.name),
    lint: review.lint(tool),
  }
}
