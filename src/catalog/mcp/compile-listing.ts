/** Compiles the lists of an MCP server with a ToolSet into tools, resources and prompts, and determines the authentication. */
import { isObject } from '../../base/json/is-object.ts'
import type { JsonSchema } from '../../base/json/json-schema.ts'
import { assertSchema } from '../../base/json-schema/validate.ts'
import { type BoundSecret, bindingFault } from '../../model/bound-secret.ts'
import {
  type BackendAuthentication,
  type Feature,
  type McpBinding,
  TASK_SUPPORT,
  type TaskSupport,
  type Tool,
  type ToolAnnotations,
} from '../../model/tool.ts'
import { type McpSource, type ToolOverride, type ToolSet, tenantOfNamespace } from '../../model/tool-set.ts'
import { originOf } from '../../model/upstream-url.ts'
import type { CompileResult } from '../compile/compile-tool-set.ts'
import { type Dict, list, own, strings, text } from '../compile/dict.ts'
import { DocumentError } from '../compile/document.ts'
import { compileFeature, FEATURE_LISTS, uriPrefixOf } from '../compile/feature.ts'
import { toolName, uniqueNames } from '../compile/names.ts'
import { applyOverride, overrideOf } from '../compile/overrides.ts'
import { boundedSchema } from '../compile/schema-bounds.ts'
import { resolvedAuthentication } from '../compile/security.ts'
import { isSelected, type Selectable, unmatchedEntries } from '../compile/select.ts'
import { SkippedOperation } from '../compile/skipped.ts'
import { cleanText, MAX_TITLE, MAX_TOOL_DESCRIPTION } from '../compile/words.ts'
import { mirroredHeaderFault } from '../resource/mirrored-headers.ts'
import { hintsOf, tagsOf } from './hints.ts'
import { cleanSchema, mirroredArguments } from './server-schema.ts'
import { boundFindings, suspiciousTexts } from './suspicious-texts.ts'

export type McpToolSet = ToolSet & { readonly source: McpSource }

export function isMcpToolSet(toolSet: ToolSet): toolSet is McpToolSet {
  return toolSet.source?.kind === 'mcp'
}

interface Listed extends Selectable {
  readonly kind: 'tool' | Feature['kind']
  readonly name: string
  readonly operationId: string
  readonly override: ToolOverride | undefined
  readonly tool: Dict
}

/** Member of the document → kind of its entries, and the field that identifies one. */
const LISTS = { tools: { kind: 'tool', id: 'name' }, ...FEATURE_LISTS } as const
const READ_ONLY = hintsOf({ annotations: { readOnlyHint: true } })
const ACCEPT = 'application/json, text/event-stream'

/**
 * @param document `ServerLists`
 * @throws DocumentError when it holds no list of tools
 */
export function compileListing(
  document: unknown,
  toolSet: McpToolSet,
  credential: BoundSecret | undefined,
): CompileResult {
  const given = isObject(document) ? own(document, 'tools') : undefined
  if (!Array.isArray(given)) throw new DocumentError('the MCP server responded without a list of tools')
  const skipped: { operation: string; reason: string }[] = []
  const all = Object.entries(LISTS).flatMap(([field, { kind, id }]) =>
    list(own(document as Dict, field)).flatMap((entry: unknown, at): Listed[] => {
      const name = isObject(entry) ? text(own(entry, id)) : undefined
      if (name !== undefined) return [toListed(kind, name, entry as Dict, toolSet)]
      skipped.push({ operation: `${field}[${at}]`, reason: `the entry has no ${id}` })
      return []
    }),
  )
  const { selector, overrides = [] } = toolSet
  const chosen = all.filter(entry => isSelected(entry, selector) && hasHints(entry, selector.annotations))
  const visible = chosen.filter(({ override }) => override?.hidden !== true)
  const names = namesOf(visible, toolSet.naming.maxLength)
  const serves = strings(own(document as Dict, 'serves'))
  const tools: Tool[] = []
  for (const [at, entry] of visible.entries()) {
    try {
      const tool =
        entry.kind === 'tool'
          ? compileTool(entry, names[at]!, toolSet, credential, serves)
          : compileListedFeature(entry, entry.kind, names[at]!, toolSet, credential, serves)
      tools.push(entry.override === undefined ? tool : applyOverride(tool, entry.override))
    } catch (error) {
      skipped.push({ operation: entry.operationId.slice(0, 128), reason: reasonOf(error) })
    }
  }
  const used = new Set(all.map(({ override }) => override))
  const unused = overrides.filter(override => !used.has(override))
  return {
    tools,
    skipped,
    notices: [],
    suspicious: boundFindings(visible.flatMap(({ operationId, tool }) => suspiciousTexts(operationId, tool))),
    unresolved: [],
    moreUnresolved: 0,
    withoutCredential: [],
    overlaid: 0,
    unmatched: [
      ...unmatchedEntries(all, selector).map(entry => `selector.${entry}`),
      ...unused.map(({ operation }) => `overrides: ${operation}`),
    ],
    selected: visible.length,
  }
}

function toListed(kind: Listed['kind'], name: string, tool: Dict, toolSet: McpToolSet): Listed {
  const operation = { method: '', path: name, operationId: name, tags: tagsOf(tool) }
  const override = overrideOf(toolSet.overrides, operation)
  const naming = { ...toolSet.naming, useOperationId: true }
  // URIs keep their form behind the prefix
  const isUri = kind === 'resource' || kind === 'template'
  const shown = isUri ? uriPrefixOf(naming.prefix) + name : (override?.name ?? toolName(operation, naming))
  return { ...operation, kind, tool, override, name: shown }
}

/** Tools and prompts have names of their kind, so that both may use one; URIs are not shortened. */
function namesOf(entries: readonly Listed[], limit: number | undefined): string[] {
  const unique = new Map<Listed, string>()
  for (const kind of ['tool', 'prompt'] as const) {
    const named = entries.filter(entry => entry.kind === kind)
    for (const [at, name] of uniqueNames(named, limit).entries()) unique.set(named[at]!, name)
  }
  return entries.map(entry => unique.get(entry) ?? entry.name)
}

function hasHints({ kind, tool }: Listed, wanted: Dict = {}): boolean {
  const hints: Dict = kind === 'tool' ? hintsOf(tool) : READ_ONLY
  return Object.entries(wanted).every(([hint, value]) => hints[hint] === value)
}

/** @throws SkippedOperation */
function compileListedFeature(
  entry: Listed,
  kind: Feature['kind'],
  id: string,
  toolSet: McpToolSet,
  credential: BoundSecret | undefined,
  serves: readonly string[],
): Tool {
  return {
    ...commonOf(entry, toolSet, credential),
    name: `${kind === 'prompt' ? 'prompt' : 'resource'}:${id}`,
    ...compileFeature(kind, id, entry.tool),
    mcp: bindingOf(toolSet, entry.operationId, undefined, serves),
  }
}

/** @throws SkippedOperation */
function compileTool(
  entry: Listed,
  name: string,
  toolSet: McpToolSet,
  credential: BoundSecret | undefined,
  serves: readonly string[],
): Tool {
  const { tool, operationId } = entry
  const { toolDefaults: defaults } = toolSet
  const served = taskSupportOf(tool)
  const tasks = served ?? defaults.tasks
  const title = cleanText(own(tool, 'title') ?? titleIn(own(tool, 'annotations')), MAX_TITLE)
  const description = cleanText(own(tool, 'description'), MAX_TOOL_DESCRIPTION)
  const inputSchema = own(tool, 'inputSchema')
  const outputSchema = own(tool, 'outputSchema')
  return {
    ...commonOf(entry, toolSet, credential),
    name,
    ...(title === '' ? {} : { title }),
    description:
      description || title || `Tool ${cleanText(operationId, MAX_TITLE)} of ${toolSet.displayName}`,
    inputSchema: boundedSchema({ ...checkedSchema(inputSchema, 'input'), type: 'object' }),
    ...(outputSchema === undefined ? {} : { outputSchema: checkedSchema(outputSchema, 'output') }),
    ...annotationsOf(tool, title),
    mcp: {
      ...bindingOf(toolSet, operationId, inputSchema, serves),
      ...(served === undefined ? {} : { tasks: served }),
    },
    ...(tasks === undefined ? {} : { tasks }),
    ...(defaults.cache === undefined ? {} : { cache: defaults.cache }),
    ...(defaults.maxResultBytes === undefined ? {} : { maxResultBytes: defaults.maxResultBytes }),
  }
}

/** For 2025-11-25; a server of 2026-07-28 decides with each call. */
function taskSupportOf(tool: Dict): TaskSupport | undefined {
  const execution = own(tool, 'execution')
  const support = isObject(execution) ? own(execution, 'taskSupport') : undefined
  return TASK_SUPPORT.find(one => one === support)
}

/** What a tool and a feature of the server have in common. */
function commonOf({ operationId, tags }: Listed, toolSet: McpToolSet, credential: BoundSecret | undefined) {
  const { source, toolDefaults: defaults } = toolSet
  const { pathname } = new URL(source.url)
  return {
    namespace: toolSet.namespace,
    tenant: tenantOfNamespace(toolSet.namespace) ?? null,
    toolSet: toolSet.name,
    operation: operationId,
    tags: [...new Set([...tags, ...defaults.tags])],
    request: {
      method: 'POST',
      baseUrl: originOf(source.url)!,
      path: pathname,
      parameters: [],
      accept: ACCEPT,
    },
    authentication: authenticationOf(toolSet, credential),
    timeoutMs: defaults.timeoutMs,
    ...(defaults.rateLimit === undefined ? {} : { rateLimit: defaults.rateLimit }),
    ...(toolSet.apiId === undefined ? {} : { apiId: toolSet.apiId }),
  }
}

function titleIn(annotations: unknown): unknown {
  return isObject(annotations) ? own(annotations, 'title') : undefined
}

function checkedSchema(schema: unknown, which: string): JsonSchema {
  if (!isObject(schema)) throw new SkippedOperation(`the ${which} schema is not an object`)
  if (which === 'input' && schema.type !== undefined && schema.type !== 'object')
    throw new SkippedOperation('the type of the input schema is not "object"')
  // clients must not use such a tool (MCP 2026-07-28, "x-mcp-header")
  const fault = which === 'input' ? mirroredHeaderFault(schema) : undefined
  if (fault !== undefined) throw new SkippedOperation(fault)
  const clean = cleanSchema(schema)
  boundedSchema(clean)
  try {
    assertSchema(clean)
  } catch (error) {
    const why = (error as Error).message.slice(0, 200)
    throw new SkippedOperation(`the ${which} schema is not a valid JSON Schema (${why})`)
  }
  return clean
}

function annotationsOf(tool: Dict, title: string): { annotations: ToolAnnotations; destructive: boolean } {
  const given = own(tool, 'annotations')
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = hintsOf(tool)
  const isSaid = isObject(given) && typeof own(given, 'destructiveHint') === 'boolean'
  return {
    annotations: {
      ...(title === '' ? {} : { title }),
      readOnlyHint,
      ...(readOnlyHint || isSaid ? { destructiveHint } : {}),
      idempotentHint,
      openWorldHint,
    },
    destructive: destructiveHint,
  }
}

function bindingOf(
  { source, naming }: McpToolSet,
  tool: string,
  inputSchema: unknown,
  serves: readonly string[],
): McpBinding {
  const { url, transport, session, headers } = source
  const uriPrefix = uriPrefixOf(naming.prefix)
  const mirrored = isObject(inputSchema) ? mirroredArguments(inputSchema) : []
  return {
    url,
    transport,
    tool,
    session,
    headers: Object.entries(headers).flat(),
    ...(mirrored.length === 0 ? {} : { mirrored }),
    ...(uriPrefix === '' ? {} : { uriPrefix }),
    ...(serves.length === 0 ? {} : { serves: serves as NonNullable<McpBinding['serves']> }),
  }
}

export function authenticationOf(
  { source, toolDefaults: { authentication } }: McpToolSet,
  credential: BoundSecret | undefined,
): BackendAuthentication {
  return resolvedAuthentication(authentication, credential, {
    in: 'header',
    name: source.keyHeader ?? 'X-API-Key',
  })
}

/** @throws DocumentError when the secret may not be sent to the server, or to the authorization server */
export function requireBoundSecret(toolSet: McpToolSet, credential: BoundSecret | undefined): void {
  const fault = bindingFault(authenticationOf(toolSet, credential), toolSet.source.url)
  if (fault !== undefined) throw new DocumentError(fault)
}

function reasonOf(error: unknown): string {
  if (error instanceof SkippedOperation) return error.message
  if (error instanceof RangeError) return 'the schemas of the entry are nested too deeply'
  return `the entry could not be read: ${error instanceof Error ? error.message : String(error)}`
}
