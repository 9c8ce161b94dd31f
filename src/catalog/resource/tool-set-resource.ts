/** Reads the spec of a ToolSet resource, and fields that a Tool resource shares with it, and reports faults. */
import { isPerCaller, TASK_SUPPORT } from '../../model/tool.ts'
import {
  DEFAULT_NAMING,
  DEFAULT_REFRESH_INTERVAL_MS,
  DEFAULT_TOOL_DEFAULTS,
  type OpenApiSource,
  type OperationSelector,
  type ToolDefaults,
  type ToolNaming,
  type ToolSet,
} from '../../model/tool-set.ts'
import { chosenTransport, type UpstreamTransport } from '../../model/upstream-transport.ts'
import { isUnixUrl, readUnixUrl } from '../../model/upstream-url.ts'
import { MAX_NAME_LENGTH, MIN_NAME_LENGTH } from '../compile/names.ts'
import { normalizeBaseUrl } from '../compile/servers.ts'
import { readAuthentication } from './authentication.ts'
import type { ResourceFields } from './fields.ts'
import { readReference } from './key-reference.ts'
import { readMcpSource } from './mcp-source.ts'
import { readOverlays } from './overlays.ts'
import { readOverrides } from './overrides.ts'
import type { ResourceMeta } from './resource-meta.ts'

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'QUERY', 'TRACE']
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']
const NAME_PART = {
  max: 40,
  pattern: /^[A-Za-z0-9_.-]*$/,
  fix: 'use letters, digits, "_", "." and "-", at most 40 characters',
}
const MIN_REFRESH_MS = 1_000
const MAX_REFRESH_MS = 30 * 24 * 3_600_000
const MAX_INLINE_CHARS = 5_000_000

/** Reads `spec`; faults are added to the Fields. The result is valid only when there are none. */
export function readToolSet(meta: ResourceMeta, spec: ResourceFields): ToolSet {
  const displayName = spec.string('displayName', { max: 64 })
  if (!spec.has('displayName')) spec.fault('displayName', 'is missing', 'write a name of 1 to 64 characters')
  const description = spec.string('description', { max: 4096 })
  const server = readMcpSource(spec, readUpstreamUrl)
  const source = server?.source ?? readSource(spec.object('openAPISpec'))
  const baseURL = readUpstreamUrl(spec, 'baseURL')
  const toolSet: ToolSet = {
    name: meta.name,
    namespace: meta.namespace,
    displayName: displayName ?? meta.name,
    ...(description === undefined ? {} : { description }),
    ...(source === undefined ? {} : { source }),
    ...(baseURL === undefined ? {} : { baseURL }),
    selector: readSelector(spec.object('selector')),
    toolDefaults: {
      ...readToolDefaults(spec.object('toolDefaults')),
      ...(server === undefined ? {} : { authentication: server.authentication }),
    },
    naming: readNaming(spec.object('naming')),
    ...readOverlays(spec),
    ...readOverrides(spec),
    ...readUpstream(spec),
    ...(spec.oneOf('listing', ['list', 'search'] as const) === 'search' ? { listing: 'search' } : {}),
    enabled: spec.boolean('enabled') ?? true,
    ...(meta.acceptedSpecHash === undefined ? {} : { acceptedSpecHash: meta.acceptedSpecHash }),
  }
  if (server === undefined && toolSet.selector.annotations !== undefined)
    spec.fault(
      'selector.annotations',
      'does not apply to an OpenAPI document',
      'remove it, and select by tags or methods',
    )
  if (server?.source.session === 'per-caller' && toolSet.toolDefaults.cache !== undefined)
    spec.fault(
      'toolDefaults.cache',
      'is set, but each caller has a separate session',
      'set spec.source.mcp.session to shared, or remove the cache: callers share cached results',
    )
  reportPerCaller(spec, toolSet)
  spec.close()
  return toolSet
}

/** What callers would share although each has its own token. */
function reportPerCaller(spec: ResourceFields, { source, toolDefaults }: ToolSet): void {
  const { authentication, cache } = toolDefaults
  if (!isPerCaller(authentication)) return
  const why = `but each caller has its own token (type ${authentication.type})`
  if (cache !== undefined)
    spec.fault('toolDefaults.cache', `is set, ${why}`, 'remove it: callers share cached results')
  if (source?.kind === 'mcp' && source.session === 'shared')
    spec.fault('source.mcp.session', `is shared, ${why}`, 'write per-caller')
}

/** An absolute http(s) address without user info, or one of a Unix socket. */
function readUpstreamUrl(fields: ResourceFields, name: string): string | undefined {
  const value = fields.raw(name)
  if (typeof value !== 'string' || !isUnixUrl(value)) return readUrl(fields, name)
  const read = readUnixUrl(value)
  if (typeof read !== 'string') return fields.string(name, { max: 2048 })
  fields.fault(name, `is not usable: ${read}`, 'write http+unix://%2Frun%2Fshop.sock[/path]')
  return undefined
}

/** An absolute http(s) address without user info. */
function readUrl(fields: ResourceFields, name: string): string | undefined {
  const value = fields.string(name, { max: 2048 })
  if (value === undefined) return undefined
  if (normalizeBaseUrl(value) !== undefined) return value
  fields.fault(
    name,
    'is not an absolute http(s) address',
    'write https://host[:port][/path], without user or password',
  )
  return undefined
}

function readSource(fields: ResourceFields | undefined): OpenApiSource | undefined {
  if (fields === undefined) return undefined
  const url = readUrl(fields, 'url')
  const refresh = fields.durationMs('refreshInterval', MIN_REFRESH_MS, MAX_REFRESH_MS)
  const configMap = readReference(fields, 'configMapRef')
  const secret = readReference(fields, 'secretRef')
  const fix = `write the document as a string of 1 to ${MAX_INLINE_CHARS} characters`
  const text = fields.string('inline', { max: MAX_INLINE_CHARS, fix })
  const given = ['url', 'configMapRef', 'secretRef', 'inline'].filter(name => fields.has(name))
  fields.close()
  if (given.length !== 1) {
    const reason = given.length === 0 ? 'has no source' : `has ${given.length} sources (${given.join(', ')})`
    fields.fault('', reason, 'write exactly one of url, configMapRef, secretRef, inline')
    return undefined
  }
  if (fields.has('refreshInterval') && !fields.has('url')) {
    fields.fault(
      'refreshInterval',
      'is set without url',
      'remove it: the gateway fetches a document again only if url is set',
    )
  }
  if (url !== undefined)
    return { kind: 'url', url, refreshIntervalMs: refresh ?? DEFAULT_REFRESH_INTERVAL_MS }
  if (configMap !== undefined) return { kind: 'configMap', ref: configMap }
  if (secret !== undefined) return { kind: 'secret', ref: secret }
  return text === undefined ? undefined : { kind: 'inline', text }
}

function readSelector(fields: ResourceFields | undefined): OperationSelector {
  if (fields === undefined) return {}
  const lists = {
    tags: fields.list('tags'),
    excludeTags: fields.list('excludeTags'),
    methods: fields.list('methods')?.map(method => method.toUpperCase()),
    operationIds: fields.list('operationIds', 25_000),
  }
  for (const method of lists.methods ?? []) {
    if (!METHODS.includes(method))
      fields.fault('methods', `holds "${method.slice(0, 20)}"`, `use ${METHODS.join(', ')}`)
  }
  const pathPrefix = fields.string('pathPrefix', { max: 1024, pattern: /^\//, fix: 'begin it with "/"' })
  const annotations = readHints(fields)
  fields.close()
  const given = Object.entries({ ...lists, pathPrefix, annotations })
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

/** Hints that tools of an MCP server must have. */
function readHints(parent: ResourceFields): OperationSelector['annotations'] {
  const fields = parent.object('annotations')
  if (fields === undefined) return undefined
  const hints = HINTS.map(hint => [hint, fields.boolean(hint)] as const)
  fields.close()
  return Object.fromEntries(hints.filter((entry): entry is [string, boolean] => entry[1] !== undefined))
}

function readToolDefaults(fields: ResourceFields | undefined): ToolDefaults {
  if (fields === undefined) return DEFAULT_TOOL_DEFAULTS
  const rateLimit = readRateLimit(fields)
  const cache = readCache(fields)
  const maxResultBytes = readMaxResult(fields)
  const tasks = fields.oneOf('tasks', TASK_SUPPORT)
  const defaults: ToolDefaults = {
    tags: fields.list('tags') ?? [],
    timeoutMs: fields.durationMs('timeout', 1, 600_000) ?? DEFAULT_TOOL_DEFAULTS.timeoutMs,
    ...(rateLimit === undefined ? {} : { rateLimit }),
    authentication: readAuthentication(fields) ?? DEFAULT_TOOL_DEFAULTS.authentication,
    ...(cache === undefined ? {} : { cache }),
    ...(maxResultBytes === undefined ? {} : { maxResultBytes }),
    ...(tasks === undefined ? {} : { tasks }),
    outputSchema: fields.boolean('outputSchema') ?? false,
  }
  fields.close()
  return defaults
}

/** `maxResultKiB`, in bytes. */
export function readMaxResult(fields: ResourceFields): number | undefined {
  const kib = fields.integer('maxResultKiB', 1, 1_048_576)
  return kib === undefined ? undefined : kib * 1024
}

export function readCache(parent: ResourceFields): ToolDefaults['cache'] {
  const fields = parent.object('cache')
  if (fields === undefined) return undefined
  const ttlMs = fields.durationMs('ttl', 1, 24 * 3_600_000)
  if (!fields.has('ttl')) fields.fault('ttl', 'is missing', 'write a duration such as 30s')
  fields.close()
  return ttlMs === undefined ? undefined : { ttlMs }
}

export function readRateLimit(parent: ResourceFields): ToolDefaults['rateLimit'] {
  const fields = parent.object('rateLimit')
  if (fields === undefined) return undefined
  const requestsPerMinute = fields.integer('requestsPerMinute', 1, 10_000_000)
  if (!fields.has('requestsPerMinute'))
    fields.fault('requestsPerMinute', 'is missing', 'write a number from 1')
  const burst = fields.integer('burst', 1, 10_000_000)
  fields.close()
  if (requestsPerMinute === undefined) return undefined
  return { requestsPerMinute, burst: burst ?? Math.max(1, Math.ceil(requestsPerMinute / 60)) }
}

function readNaming(fields: ResourceFields | undefined): ToolNaming {
  if (fields === undefined) return DEFAULT_NAMING
  const naming = {
    prefix: fields.string('prefix', NAME_PART) ?? '',
    suffix: fields.string('suffix', NAME_PART) ?? '',
    useOperationId: fields.boolean('useOperationId') ?? true,
  }
  const maxLength = fields.integer('maxLength', MIN_NAME_LENGTH, MAX_NAME_LENGTH)
  fields.close()
  return maxLength === undefined ? naming : { ...naming, maxLength }
}

export function readUpstream(spec: ResourceFields): { readonly upstream?: UpstreamTransport } {
  const fields = spec.object('upstream')
  if (fields === undefined) return {}
  const http2 = fields.boolean('http2') ?? false
  fields.close()
  const upstream = chosenTransport({ http2 })
  return upstream === undefined ? {} : { upstream }
}
