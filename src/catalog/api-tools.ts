/** Checks the OpenAPI document of an API of the control plane, and compiles it as a tool set of its tenant. */
import { type Api, toolPrefixOf } from '../model/api.ts'
import type { Tenant } from '../model/tenant.ts'
import type { Tool, ToolDeprecation } from '../model/tool.ts'
import type { ToolSet } from '../model/tool-set.ts'
import { chosenTransport } from '../model/upstream-transport.ts'
import { DocumentError, OpenDocument } from './compile/document.ts'
import { cleanText, MAX_TOOL_DESCRIPTION } from './compile/words.ts'
import { parseDocumentText } from './document/parse-document.ts'
import type { ToolSetCompiler } from './sync/compile-job.ts'
import { degradationOf } from './sync/status.ts'

const TIMEOUT_MS = 30_000
/** Schemas that many operations refer to become part of each tool: a document of 1 MB can lead to gigabytes. */
export const API_TOOL_BOUNDS = { maxTools: 5_000, maxChars: 32_000_000 }

/** Why a document cannot have tools, with the fix; undefined when it is an OpenAPI document. Operations are not checked. */
export function specFault(spec: string): string | undefined {
  try {
    new OpenDocument(parseDocumentText(textOf(spec)))
    return undefined
  } catch (error) {
    if (error instanceof DocumentError) return error.message
    throw error
  }
}

/** A document that was sent as text is stored as a JSON string. */
function textOf(spec: string): string {
  const parsed: unknown = JSON.parse(spec)
  return typeof parsed === 'string' ? parsed : spec
}

/** @throws Error with the reason when the document cannot be compiled */
export async function apiTools(
  api: Api,
  tenant: Tenant,
  compiler: ToolSetCompiler,
): Promise<{ readonly tools: readonly Tool[]; readonly degraded: string | null }> {
  if (api.spec === null) return { tools: [], degraded: null }
  const outcome = await compiler.compile({
    document: textOf(api.spec),
    toolSet: toolSetOf(api, tenant),
    bounds: API_TOOL_BOUNDS,
  })
  if (outcome.kind === 'fault') throw new Error(outcome.message)
  if (outcome.kind !== 'compiled') return { tools: [], degraded: null }
  return {
    tools: announceDeprecation(outcome.result.tools, api),
    degraded: degradationOf(outcome.result)?.message ?? null,
  }
}

/** Models read the description, programs the field. */
function announceDeprecation(tools: readonly Tool[], { deprecatedAt, deprecation }: Api): readonly Tool[] {
  const { sunsetAt = null, afterSunset, link = null } = deprecation ?? {}
  if (deprecatedAt === null && sunsetAt === null) return tools
  const day = sunsetAt?.slice(0, 10)
  const ends =
    afterSunset === 'refuse'
      ? `from ${day}, the gateway refuses calls to the API`
      : `the sunset date of the API is ${day}`
  const note = `${deprecatedAt === null ? 'Note' : 'Deprecated'}${day === undefined ? '' : `: ${ends}`}.`
  const field: ToolDeprecation = {
    ...(deprecatedAt === null ? {} : { deprecated_at: deprecatedAt.toISOString() }),
    ...(sunsetAt === null ? {} : { sunset_at: sunsetAt }),
    ...(link === null ? {} : { link }),
  }
  return tools.map(tool => ({
    ...tool,
    description: cleanText(`${note} ${tool.description}`, MAX_TOOL_DESCRIPTION),
    deprecation: field,
  }))
}

function toolSetOf(api: Api, tenant: Tenant): ToolSet {
  const upstream = chosenTransport(api.traffic?.connections ?? {})
  return {
    name: api.id,
    namespace: `tenant-${tenant.name}`,
    displayName: api.name.slice(0, 64),
    baseURL: api.upstreamUrl,
    selector: {},
    toolDefaults: {
      tags: [],
      timeoutMs: api.traffic?.timeoutMs ?? TIMEOUT_MS,
      authentication: { type: 'none' },
      outputSchema: false,
    },
    naming: { prefix: toolPrefixOf(api), suffix: '', useOperationId: true },
    ...(upstream === undefined ? {} : { upstream }),
    enabled: true,
    apiId: api.id,
  }
}
