/** Compiles `x-mcp-resources` and `x-mcp-prompts` of an OpenAPI document into resources, resource templates and prompts. */
import { withDoubles } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { ObjectSchema } from '../../base/json/json-schema.ts'
import { readUriTemplate } from '../../base/uri-template.ts'
import type { DocumentFeature, PromptMessage, Tool } from '../../model/tool.ts'
import { type Dict, list, own, strings, text } from './dict.ts'
import type { OpenDocument, RawOperation } from './document.ts'
import { compileFeature, uriPrefixOf } from './feature.ts'
import { toolName } from './names.ts'
import { compileOperation, type OperationParts } from './operation.ts'
import { isSelected } from './select.ts'
import { SkippedOperation } from './skipped.ts'

const MAX_RESOURCES = 500
const MAX_PROMPTS = 200
const MAX_MESSAGES = 20
const MAX_MESSAGE_CHARS = 16_000
/** MCP, completion. */
const MAX_VALUES = 100
const PLACEHOLDER = /\{\{\s*([^\s{}]{1,64})\s*\}\}/g

interface Compiled {
  readonly features: readonly Tool[]
  readonly skipped: readonly { readonly operation: string; readonly reason: string }[]
}

export function documentFeatures(parts: OperationParts): Compiled {
  const { root } = parts.document
  const features = new Map<string, Tool>()
  const skipped: { operation: string; reason: string }[] = []
  const compileAll = (field: string, max: number, compile: (entry: Dict) => Tool | undefined): void => {
    const given = own(root, field)
    if (given !== undefined && !Array.isArray(given))
      skipped.push({ operation: field, reason: `${field} is not a list` })
    for (const [at, entry] of list(given).entries()) {
      try {
        if (at >= max) throw new SkippedOperation(`${field} has more than ${max} entries`)
        if (!isObject(entry)) throw new SkippedOperation('the entry is not an object')
        const tool = compile(entry)
        if (tool === undefined) continue
        if (features.has(tool.name)) throw new SkippedOperation('another entry has the same URI or name')
        features.set(tool.name, tool)
      } catch (error) {
        skipped.push({ operation: `${field}[${at}]`, reason: reasonOf(error) })
      }
      if (at >= max) break
    }
  }
  compileAll('x-mcp-resources', MAX_RESOURCES, entry => compileResource(entry, parts))
  compileAll('x-mcp-prompts', MAX_PROMPTS, entry => compilePrompt(entry, parts))
  return { features: [...features.values()], skipped }
}

/** @returns undefined when the selector leaves its operation out */
function compileResource(entry: Dict, parts: OperationParts): Tool | undefined {
  const { document, toolSet } = parts
  const wanted = text(own(entry, 'operation'))
  if (wanted === undefined) throw new SkippedOperation('the field "operation" is missing')
  const raw = operationNamed(document, wanted)
  if (raw === undefined) throw new SkippedOperation(`the document has no operation "${wanted.slice(0, 80)}"`)
  if (raw.method !== 'GET')
    throw new SkippedOperation(`the operation "${wanted.slice(0, 80)}" is not a GET operation`)
  const { method, path } = raw
  const selectable = {
    method,
    path,
    operationId: idOf(raw),
    tags: strings(own(raw.operation as Dict, 'tags')),
  }
  if (!isSelected(selectable, toolSet.selector)) return undefined
  const uri = text(own(entry, 'uri'))
  if (uri === undefined) throw new SkippedOperation('the field "uri" is missing')
  const template = readUriTemplate(uri)
  if (template === undefined)
    throw new SkippedOperation('the URI template in the field "uri" is not valid or not supported')
  const tool = compileOperation(raw, wanted, parts)
  const variables = variablesOf(template.names, tool)
  const kind = template.names.length === 0 ? 'resource' : 'template'
  const mimeType = text(own(entry, 'mimeType')) ?? mediaTypeOf(tool)
  const described = { title: tool.title, description: tool.description, name: wanted, mimeType }
  const id = uriPrefixOf(toolSet.naming.prefix) + uri
  const compiled = compileFeature(kind, id, { ...described, ...entry, mimeType })
  const { outputSchema: _, listing: __, ...common } = tool
  const document_: DocumentFeature = {
    variables,
    arguments: withDoubles(tool.inputSchema) as ObjectSchema,
    completions: completionsOf(variables, tool.inputSchema),
  }
  return {
    ...common,
    ...compiled,
    name: `resource:${id}`,
    feature: { ...compiled.feature, document: document_ },
  }
}

function operationNamed(document: OpenDocument, wanted: string): RawOperation | undefined {
  for (const raw of document.operations()) {
    if ('reason' in raw || !isObject(raw.operation)) continue
    if (idOf(raw) === wanted || `${raw.method} ${raw.path}` === wanted) return raw
  }
  return undefined
}

function idOf({ operation }: RawOperation): string | undefined {
  return text(own(operation as Dict, 'operationId'))
}

/** Variable of the URI → argument of the operation; a variable may have the name on the wire. */
function variablesOf(
  names: readonly string[],
  { inputSchema, request }: Tool,
): { readonly [name: string]: string } {
  const { properties = {}, required = [] } = inputSchema
  const variables: { [name: string]: string } = {}
  for (const name of names) {
    const argument = Object.hasOwn(properties, name)
      ? name
      : request.parameters.find(parameter => parameter.name === name)?.argument
    if (argument === undefined)
      throw new SkippedOperation(
        `the variable "${name}" in the field "uri" is not a parameter of the operation`,
      )
    const { type } = schemaAt(inputSchema, argument)
    const types = Array.isArray(type) ? type : [type]
    if (types.includes('object') || types.includes('array'))
      throw new SkippedOperation(
        `the variable "${name}" in the field "uri" refers to a parameter that is not a string, number or boolean`,
      )
    variables[name] = argument
  }
  const missing = required.filter(argument => !Object.values(variables).includes(argument))
  if (missing.length > 0)
    throw new SkippedOperation(
      `the field "uri" has no variable for these required parameters of the operation: ${missing.slice(0, 5).join(', ')}`,
    )
  return variables
}

/** With a reference to `$defs` followed. */
function schemaAt({ properties = {}, $defs }: ObjectSchema, argument: string): Dict {
  const schema = properties[argument]
  if (!isObject(schema)) return {}
  const name = /^#\/\$defs\/([^/]+)$/.exec(String(schema.$ref))?.[1]
  const target = name === undefined || !isObject($defs) ? undefined : own($defs, name)
  return isObject(target) ? target : schema
}

function completionsOf(
  variables: DocumentFeature['variables'],
  schema: ObjectSchema,
): DocumentFeature['completions'] {
  const all = Object.entries(variables ?? {}).flatMap(([name, argument]) => {
    const { type, enum: values } = schemaAt(schema, argument)
    const known = Array.isArray(values) ? values : type === 'boolean' ? [true, false] : []
    return known.length === 0 ? [] : [[name, textsOf(known)] as const]
  })
  return Object.fromEntries(all)
}

function textsOf(values: readonly unknown[]): readonly string[] {
  return values
    .filter(value => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, MAX_VALUES)
    .map(String)
}

/** What the operation responds with, where it responds with one type. */
function mediaTypeOf({ request }: Tool): string | undefined {
  const types = request.accept.split(',').map(type => type.split(';')[0]!.trim())
  const named = types.filter(type => !type.includes('*'))
  return named.length === 1 ? named[0] : undefined
}

function compilePrompt(entry: Dict, parts: OperationParts): Tool {
  const { toolSet } = parts
  const given = text(own(entry, 'name'))
  if (given === undefined) throw new SkippedOperation('the field "name" is missing')
  const naming = { ...toolSet.naming, useOperationId: true }
  const id = toolName({ method: '', path: given, operationId: given }, naming)
  const compiled = compileFeature('prompt', id, entry)
  const argumentNames = Object.keys(compiled.inputSchema.properties ?? {})
  const messages = messagesOf(own(entry, 'messages'), new Set(argumentNames))
  const completions = Object.fromEntries(
    list(own(entry, 'arguments')).flatMap(argument => {
      const values = isObject(argument) ? list(own(argument, 'enum')) : []
      return values.length === 0 ? [] : [[String(own(argument as Dict, 'name')), textsOf(values)] as const]
    }),
  )
  const { tenant } = parts
  return {
    name: `prompt:${id}`,
    namespace: toolSet.namespace,
    tenant,
    toolSet: toolSet.name,
    operation: given,
    tags: [...new Set([...strings(own(entry, 'tags')), ...toolSet.toolDefaults.tags])],
    // nothing is sent
    request: { method: 'GET', baseUrl: '', path: '', parameters: [], accept: '' },
    authentication: { type: 'none' },
    timeoutMs: toolSet.toolDefaults.timeoutMs,
    ...(toolSet.toolDefaults.rateLimit === undefined ? {} : { rateLimit: toolSet.toolDefaults.rateLimit }),
    ...(toolSet.apiId === undefined ? {} : { apiId: toolSet.apiId }),
    ...compiled,
    feature: { ...compiled.feature, document: { messages, completions } },
  }
}

function messagesOf(given: unknown, known: ReadonlySet<string>): readonly PromptMessage[] {
  const messages = list(given).map((message, at): PromptMessage => {
    const role = isObject(message) ? (own(message, 'role') ?? 'user') : undefined
    const content = isObject(message) ? own(message, 'content') : undefined
    const said = isObject(content)
      ? own(content, 'text')
      : isObject(message)
        ? (own(message, 'text') ?? content)
        : undefined
    if (role !== 'user' && role !== 'assistant')
      throw new SkippedOperation(`the role of messages[${at}] is neither user nor assistant`)
    if (typeof said !== 'string' || said === '' || said.length > MAX_MESSAGE_CHARS)
      throw new SkippedOperation(
        `the text of messages[${at}] is missing or is not a string of 1 to ${MAX_MESSAGE_CHARS} characters`,
      )
    const unknown = [...said.matchAll(PLACEHOLDER)].map(([, name]) => name!).find(name => !known.has(name))
    if (unknown !== undefined)
      throw new SkippedOperation(
        `messages[${at}] contains {{${unknown}}}, which is not an argument of the prompt`,
      )
    return { role, text: said }
  })
  if (messages.length === 0 || messages.length > MAX_MESSAGES)
    throw new SkippedOperation(
      `the prompt has ${messages.length} messages: write 1 to ${MAX_MESSAGES} messages`,
    )
  return messages
}

function reasonOf(error: unknown): string {
  if (error instanceof SkippedOperation) return error.message
  if (error instanceof RangeError)
    return 'the schemas of the entry are nested too deeply, or the chain of their references is too long'
  return `the entry could not be read: ${error instanceof Error ? error.message : String(error)}`
}
