/** Reads the spec of a Tool resource, and reports its faults. It makes no tool: `apply-tool.ts` does. */
import { isObject } from '../../base/json/is-object.ts'
import type { JsonSchema, ObjectSchema } from '../../base/json/json-schema.ts'
import { assertSchema } from '../../base/json-schema/validate.ts'
import { TASK_SUPPORT, type TaskSupport, type ToolAnnotations } from '../../model/tool.ts'
import type { DeclaredAuthentication, ToolDefaults } from '../../model/tool-set.ts'
import { isUnixUrl, readUnixUrl } from '../../model/upstream-url.ts'
import { readAuthentication } from './authentication.ts'
import type { ResourceFields } from './fields.ts'
import { mirroredHeaderFault } from './mirrored-headers.ts'
import type { ResourceMeta } from './resource-meta.ts'
import { readCache, readMaxResult, readRateLimit } from './tool-set-resource.ts'

/** Fields of a Tool resource; absent fields are as generated. */
export interface ToolResource {
  readonly name: string
  readonly namespace: string
  readonly displayName?: string
  readonly description?: string
  /** Absolute address of http(s) or a Unix socket, with `{placeholders}` in its path. */
  readonly endpoint?: string
  /** Upper case. */
  readonly method?: string
  readonly inputSchema?: ObjectSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: Partial<ToolAnnotations>
  readonly tags?: readonly string[]
  readonly version?: string
  /** Id of the control-plane API. */
  readonly apiRef?: string
  readonly authentication?: DeclaredAuthentication
  readonly timeoutMs?: number
  readonly rateLimit?: ToolDefaults['rateLimit']
  readonly cache?: ToolDefaults['cache']
  readonly maxResultBytes?: number
  readonly tasks?: TaskSupport
  readonly enabled?: boolean
}

const TOOL_METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH'] as const

/** Reads `spec`; faults are added to the Fields. */
export function readTool(meta: ResourceMeta, spec: ResourceFields): ToolResource {
  const fields = {
    displayName: spec.string('displayName', { max: 120 }),
    description: spec.string('description', { max: 4096 }),
    endpoint: readEndpoint(spec),
    method: spec.oneOf('method', TOOL_METHODS),
    inputSchema: readSchema(spec, 'inputSchema', true) as ObjectSchema | undefined,
    outputSchema: readSchema(spec, 'outputSchema', false),
    annotations: readAnnotations(spec.object('annotations')),
    tags: spec.list('tags'),
    version: spec.string('version', { max: 64 }),
    apiRef: spec.string('apiRef', { max: 128 }),
    authentication: readAuthentication(spec),
    timeoutMs: spec.durationMs('timeout', 1, 600_000),
    rateLimit: readRateLimit(spec),
    cache: readCache(spec),
    maxResultBytes: readMaxResult(spec),
    tasks: spec.oneOf('tasks', TASK_SUPPORT),
    enabled: spec.boolean('enabled'),
  }
  spec.close()
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return { name: meta.name, namespace: meta.namespace, ...Object.fromEntries(given) }
}

function readEndpoint(spec: ResourceFields): string | undefined {
  const value = spec.string('endpoint', { max: 2048 })
  if (value === undefined) return undefined
  const plain = value.replace(/\{[^{}]+\}/g, 'x')
  const unix = isUnixUrl(plain) ? readUnixUrl(plain) : undefined
  if (typeof unix === 'string') {
    spec.fault('endpoint', `is not usable: ${unix}`, 'write http+unix://%2Frun%2Fshop.sock/path')
    return undefined
  }
  const url = URL.canParse(plain) ? new URL(plain) : undefined
  const isHttp =
    url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if ((isHttp || unix !== undefined) && !/[?#]/.test(value) && !/^[^/]*\/\/[^/]*\{/.test(value)) return value
  spec.fault(
    'endpoint',
    'is not a valid endpoint URL',
    'write https://host/path, with {placeholders} in the path only and without a query',
  )
  return undefined
}

function readSchema(spec: ResourceFields, name: string, mustBeObject: boolean): JsonSchema | undefined {
  const value = spec.raw(name)
  if (value === undefined) return undefined
  if (!isObject(value)) spec.fault(name, 'is not an object', 'write a JSON Schema (2020-12)')
  else if (mustBeObject && value.type !== 'object')
    spec.fault(`${name}.type`, 'is not "object"', 'write type: object')
  else if (JSON.stringify(value).length > 200_000)
    spec.fault(name, 'is longer than 200000 characters', 'shorten it')
  else {
    const mirrored = mirroredHeaderFault(value)
    if (mirrored !== undefined) {
      spec.fault(name, `has an invalid annotation: ${mirrored}`, 'correct or remove the annotation')
      return undefined
    }
    try {
      assertSchema(value)
      return value
    } catch (error) {
      spec.fault(
        name,
        `is not a valid JSON Schema (${String((error as Error).message).slice(0, 200)})`,
        'correct it',
      )
    }
  }
  return undefined
}

function readAnnotations(fields: ResourceFields | undefined): Partial<ToolAnnotations> | undefined {
  if (fields === undefined) return undefined
  const read = {
    title: fields.string('title', { max: 120 }),
    readOnlyHint: fields.boolean('readOnlyHint'),
    destructiveHint: fields.boolean('destructiveHint'),
    idempotentHint: fields.boolean('idempotentHint'),
    openWorldHint: fields.boolean('openWorldHint'),
  }
  fields.close()
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined))
}
