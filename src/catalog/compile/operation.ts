/** Compiles an operation of an OpenAPI document into a tool, and creates the schema converters that operations share. */

import { isObject } from '../../base/json/is-object.ts'
import { type BoundSecret, bindingFault } from '../../model/bound-secret.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import { annotationsOf, isDestructive } from './annotations.ts'
import { assembleArguments } from './arguments.ts'
import { compileBody } from './body.ts'
import { Bundler } from './bundle.ts'
import { type Dict, own, strings, text } from './dict.ts'
import type { OpenDocument, RawOperation } from './document.ts'
import { acceptOf, essence, isJson } from './media-types.ts'
import { readParameters } from './parameters.ts'
import { requestTemplate } from './request-template.ts'
import { SchemaConverter, type SchemaDirection } from './schema.ts'
import { boundedSchema } from './schema-bounds.ts'
import type { Draft } from './schema-keywords.ts'
import { authenticationOf } from './security.ts'
import { chooseServer } from './servers.ts'
import { SkippedOperation } from './skipped.ts'
import { modernResponse } from './swagger2.ts'
import {
  cleanText,
  firstLine,
  MAX_GENERATED_DESCRIPTION,
  MAX_TITLE,
  MAX_TOOL_DESCRIPTION,
  plainText,
} from './words.ts'

/** Inputs that all operations of one compilation share. */
export interface OperationParts {
  readonly document: OpenDocument
  readonly toolSet: ToolSet
  readonly tenant: string | null
  readonly documentUrl: string | undefined
  readonly credential: BoundSecret | undefined
  readonly notice: (message: string) => void
  /** Places of the document's credentials. */
  readonly credentialPlaces: ReadonlySet<string>
  readonly request: Schemas
  readonly response: Schemas
}

/** One for each document and direction, with caches that all operations share. */
export interface Schemas {
  readonly converter: SchemaConverter
  readonly bundler: Bundler
}

export function schemas(
  document: OpenDocument,
  direction: SchemaDirection,
  notice: (message: string) => void,
): Schemas {
  const converter = new SchemaConverter(document, direction, notice)
  return { converter, bundler: new Bundler(converter, notice) }
}

/** @throws SkippedOperation */
export function compileOperation(raw: RawOperation, name: string, parts: OperationParts): Tool {
  const { document, toolSet } = parts
  const operation = raw.operation as Dict
  if (raw.method === 'TRACE')
    throw new SkippedOperation('the gateway does not send TRACE requests to backends')
  const server = chooseServer(document, raw, { baseURL: toolSet.baseURL, documentUrl: parts.documentUrl })
  if (server.kind === 'none') throw new SkippedOperation(server.reason)
  const defaults = toolSet.toolDefaults
  const authentication = authenticationOf(document, raw, defaults.authentication, parts.credential)
  const unbound = bindingFault(authentication, server.baseUrl)
  if (unbound !== undefined) throw new SkippedOperation(unbound)
  const { merged, broken } = document.parametersOf(raw)
  if (broken.length > 0) throw new SkippedOperation(`a parameter cannot be read: ${broken[0]!.slice(0, 120)}`)
  const read = readParameters(document, raw, merged, authentication, parts.credentialPlaces, parts.notice)
  const body = compileBody(document, raw, merged)
  if (typeof body === 'string') throw new SkippedOperation(body)
  const args = assembleArguments(read, body, parts.request.converter)
  const responses = readResponses(document, raw)
  const output = defaults.outputSchema ? outputSchema(responses.node, parts.response) : undefined
  const title = plainText(own(operation, 'summary'), MAX_TITLE)
  return {
    name,
    namespace: toolSet.namespace,
    tenant: parts.tenant,
    toolSet: toolSet.name,
    operation: text(own(operation, 'operationId')) ?? `${raw.method} ${raw.path}`,
    ...(title === '' ? {} : { title: firstLine(title) }),
    description: descriptionOf(operation, raw, document),
    inputSchema: boundedSchema(parts.request.bundler.bundle(args.input)),
    ...(output === undefined ? {} : { outputSchema: output }),
    annotations: annotationsOf(raw.method, firstLine(title)),
    destructive: isDestructive(raw.method),
    tags: [...new Set([...strings(own(operation, 'tags')), ...defaults.tags])],
    request: requestTemplate(raw, server.baseUrl, args, responses.accept),
    authentication,
    timeoutMs: defaults.timeoutMs,
    ...(defaults.rateLimit === undefined ? {} : { rateLimit: defaults.rateLimit }),
    ...(defaults.cache === undefined ? {} : { cache: defaults.cache }),
    ...(defaults.maxResultBytes === undefined ? {} : { maxResultBytes: defaults.maxResultBytes }),
    ...(defaults.tasks === undefined ? {} : { tasks: defaults.tasks }),
    ...(toolSet.upstream === undefined ? {} : { upstream: toolSet.upstream }),
    ...(toolSet.listing === undefined ? {} : { listing: toolSet.listing }),
    ...(toolSet.apiId === undefined ? {} : { apiId: toolSet.apiId }),
  }
}

/** Summary and description, never empty; deprecation comes first, because it affects the choice of an agent. */
function descriptionOf(operation: Dict, raw: RawOperation, document: OpenDocument): string {
  const summary = plainText(own(operation, 'summary'), MAX_TOOL_DESCRIPTION)
  const description = plainText(own(operation, 'description'), MAX_GENERATED_DESCRIPTION)
  const body = description.startsWith(summary)
    ? description
    : [summary, description].filter(Boolean).join('\n\n')
  const said = body === '' ? cleanText(`${raw.method} ${raw.path} of ${document.title}`, MAX_TITLE * 2) : body
  return cleanText(own(operation, 'deprecated') === true ? `Deprecated. ${said}` : said, MAX_TOOL_DESCRIPTION)
}

function outputSchema(node: unknown, { converter, bundler }: Schemas): Draft | undefined {
  if (node === undefined) return undefined
  let converted = converter.convert(node)
  // Clients expect the type at the root, so a reference there is replaced by its target.
  for (let hops = 0; hops < 8 && Object.keys(converted.schema).join() === '$ref'; hops++) {
    const [name] = converted.references.keys()
    if (name === undefined) break
    converted = converter.definition(name)
  }
  return bundler.bundle(converted)
}

interface ReadResponses {
  /** Value of `Accept`. */
  readonly accept: string
  /** Schema of the first JSON response, in the order of their statuses; undefined when there is none. */
  readonly node: unknown
}

function readResponses(document: OpenDocument, raw: RawOperation): ReadResponses {
  const operation = raw.operation as Dict
  const responses = own(operation, 'responses')
  const types: string[] = []
  let node: unknown
  for (const status of isObject(responses) ? successes(responses) : []) {
    const given = document.follow((responses as Dict)[status])
    if (!isObject(given)) continue
    const response = document.dialect === '2.0' ? modernResponse(document, operation, given) : given
    const content = own(response, 'content')
    for (const key of isObject(content) ? Object.keys(content) : []) {
      const type = essence(key)
      if (type === undefined) continue
      types.push(type)
      const media = document.follow((content as Dict)[key])
      if (node === undefined && isJson(type) && isObject(media)) node = own(media, 'schema')
    }
  }
  return { accept: acceptOf(types), node }
}

/** 2xx in ascending order, then the range, or `default` when there are none. */
function successes(responses: Dict): string[] {
  const exact = Object.keys(responses)
    .filter(status => /^2\d\d$/.test(status))
    .sort()
  const range = Object.keys(responses).filter(status => /^2XX$/i.test(status))
  const all = [...exact, ...range]
  return all.length > 0 ? all : Object.keys(responses).filter(status => status === 'default')
}
