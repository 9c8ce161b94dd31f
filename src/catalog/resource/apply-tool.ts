/** Applies a Tool resource to a generated tool, or makes a new tool of it. `served-tools.ts` chooses between the two. */

import { isObject } from '../../base/json/is-object.ts'
import type { ObjectSchema } from '../../base/json/json-schema.ts'
import type { BoundSecret } from '../../model/bound-secret.ts'
import { asExactTool, asPlainTool } from '../../model/exact-tool.ts'
import type { ResourceFault } from '../../model/resource-fault.ts'
import type { BackendAuthentication, ParameterBinding, RequestTemplate, Tool } from '../../model/tool.ts'
import { DEFAULT_TIMEOUT_MS, type DeclaredAuthentication, tenantOfNamespace } from '../../model/tool-set.ts'
import { annotationsOf, isDestructive } from '../compile/annotations.ts'
import { placeholdersOf } from '../compile/parameters.ts'
import { resolvedAuthentication } from '../compile/security.ts'
import { cleanText, MAX_TITLE, MAX_TOOL_DESCRIPTION } from '../compile/words.ts'
import type { ToolResource } from './tool-resource.ts'

/** The tool set name of tools without a tool set. */
const WITHOUT_OPERATION = '(by hand)'

/** @param credential of `authentication.secretRef`, resolved */
export function overlayTool(plain: Tool, manual: ToolResource, credential: BoundSecret | undefined): Tool {
  const generated = asExactTool(plain)
  const title = cleanText(manual.displayName, MAX_TITLE)
  const description = cleanText(manual.description, MAX_TOOL_DESCRIPTION)
  return asPlainTool({
    ...generated,
    ...(title === '' ? {} : { title }),
    ...(description === '' ? {} : { description }),
    ...(manual.inputSchema === undefined ? {} : { inputSchema: manual.inputSchema }),
    ...(manual.outputSchema === undefined ? {} : { outputSchema: manual.outputSchema }),
    annotations: { ...generated.annotations, ...manual.annotations },
    ...(manual.annotations?.destructiveHint === undefined
      ? {}
      : { destructive: manual.annotations.destructiveHint }),
    ...(manual.tags === undefined ? {} : { tags: manual.tags }),
    request: { ...generated.request, ...requestOf(manual) },
    ...(manual.authentication === undefined
      ? {}
      : { authentication: authentication(manual.authentication, credential, generated.authentication) }),
    ...(manual.timeoutMs === undefined ? {} : { timeoutMs: manual.timeoutMs }),
    ...(manual.rateLimit === undefined ? {} : { rateLimit: manual.rateLimit }),
    ...(manual.cache === undefined ? {} : { cache: manual.cache }),
    ...(manual.maxResultBytes === undefined ? {} : { maxResultBytes: manual.maxResultBytes }),
    ...(manual.tasks === undefined ? {} : { tasks: manual.tasks }),
    ...(manual.apiRef === undefined ? {} : { apiId: manual.apiRef }),
  })
}

/** A tool without an OpenAPI operation: arguments fill placeholders of the endpoint, then the query (GET, HEAD, DELETE, OPTIONS) or JSON fields. */
export function manualTool(
  manual: ToolResource,
  credential: BoundSecret | undefined,
): Tool | readonly ResourceFault[] {
  const { endpoint, method } = manual
  if (endpoint === undefined || method === undefined) {
    const field = endpoint === undefined ? 'spec.endpoint' : 'spec.method'
    const reason = 'is missing, and no ToolSet generates a tool of this name'
    const fix = 'write spec.endpoint and spec.method, or use the name of a tool that a ToolSet generates'
    return [{ field, reason, fix }]
  }
  const path = new URL(endpoint.replace(/[{}]/g, '')).pathname
  const inputSchema = manual.inputSchema ?? schemaFor(endpoint)
  const base: Tool = {
    name: manual.name,
    namespace: manual.namespace,
    tenant: tenantOfNamespace(manual.namespace) ?? null,
    toolSet: WITHOUT_OPERATION,
    operation: `${method} ${path}`,
    description: `${method} ${path}`,
    inputSchema,
    annotations: annotationsOf(method, ''),
    destructive: isDestructive(method),
    tags: [],
    request: {
      method,
      ...split(endpoint),
      ...bindings(endpoint, method, inputSchema),
      accept: 'application/json, */*;q=0.8',
    },
    authentication: { type: 'none' },
    timeoutMs: DEFAULT_TIMEOUT_MS,
  }
  return overlayTool(base, manual, credential)
}

function requestOf(manual: ToolResource): Partial<RequestTemplate> {
  return {
    ...(manual.method === undefined ? {} : { method: manual.method }),
    ...(manual.endpoint === undefined ? {} : split(manual.endpoint)),
  }
}

function split(endpoint: string): Pick<RequestTemplate, 'baseUrl' | 'path'> {
  const at = endpoint.indexOf('/', endpoint.indexOf('//') + 2)
  return at < 0
    ? { baseUrl: endpoint, path: '' }
    : { baseUrl: endpoint.slice(0, at), path: endpoint.slice(at) }
}

function schemaFor(endpoint: string): ObjectSchema {
  const names = placeholdersOf(endpoint)
  const properties = Object.fromEntries(names.map(name => [name, { type: 'string', minLength: 1 }]))
  return {
    type: 'object',
    properties,
    ...(names.length > 0 ? { required: names } : {}),
    additionalProperties: false,
  }
}

function bindings(
  endpoint: string,
  method: string,
  schema: ObjectSchema,
): Pick<RequestTemplate, 'parameters' | 'body'> {
  const inPath = placeholdersOf(endpoint)
  const rest = Object.keys(isObject(schema.properties) ? schema.properties : {}).filter(
    name => !inPath.includes(name),
  )
  const parameters: ParameterBinding[] = inPath.map(name => {
    return { argument: name, name, in: 'path', style: 'simple', explode: false }
  })
  if (method === 'POST' || method === 'PUT' || method === 'PATCH') {
    const fields = rest.map(name => ({ argument: name, name }))
    return {
      parameters,
      body: { contentType: 'application/json', required: true, from: { kind: 'fields', fields } },
    }
  }
  for (const name of rest)
    parameters.push({ argument: name, name, in: 'query', style: 'form', explode: true })
  return { parameters }
}

function authentication(
  declared: DeclaredAuthentication,
  credential: BoundSecret | undefined,
  generated: BackendAuthentication,
): BackendAuthentication {
  const { in: place = 'header', name = 'X-API-Key' } = generated.type === 'apiKey' ? generated : {}
  return resolvedAuthentication(declared, credential, { in: place, name })
}
