/** Reads `spec.source.mcp` of a ToolSet resource, and reports fields of the spec that an MCP server has no use for. It connects to nothing. */
import { DEFAULT_MCP_REFRESH_MS, type DeclaredAuthentication, type McpSource } from '../../model/tool-set.ts'
import { readAuthenticationFields } from './authentication.ts'
import type { ResourceFields } from './fields.ts'

interface ReadSource {
  readonly source: McpSource
  readonly authentication: DeclaredAuthentication
}

const MIN_REFRESH_MS = 1_000
const MAX_REFRESH_MS = 30 * 24 * 3_600_000
const MAX_HEADERS = 20
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const HEADER_RULE = { max: 64, pattern: HEADER_NAME, fix: 'write the name of an HTTP header' }
const HEADER_VALUE = /^[\x20-\x7e]{1,1024}$/
/** Set by the gateway, or part of HTTP framing. */
const RESERVED =
  /^(?:authorization|proxy-.*|host|connection|keep-alive|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept|accept-encoding|cookie|last-event-id|mcp-.*|traceparent|tracestate|baggage|x-request-id)$/i

/** @param readUrl reads the address of an upstream */
export function readMcpSource(
  spec: ResourceFields,
  readUrl: (fields: ResourceFields, name: string) => string | undefined,
): ReadSource | undefined {
  const parent = spec.object('source')
  if (parent === undefined) return undefined
  const fields = parent.object('mcp')
  if (!parent.has('mcp'))
    parent.fault('mcp', 'is missing', 'write mcp: { url: https://… } with the address of the MCP server')
  parent.close()
  if (fields === undefined) return undefined
  const url = readUrl(fields, 'url')
  if (!fields.has('url')) fields.fault('url', 'is missing', 'write the address of the MCP endpoint')
  const authentication = fields.object('authentication')
  const keyHeader = authentication?.string('header', HEADER_RULE)
  if (keyHeader !== undefined && authentication!.raw('type') !== 'apiKey')
    authentication!.fault(
      'header',
      'is set, but type is not apiKey',
      'remove it: other types use the header Authorization',
    )
  const source: McpSource = {
    kind: 'mcp',
    url: url ?? '',
    transport: fields.oneOf('transport', ['auto', 'streamable', 'sse'] as const) ?? 'auto',
    headers: readHeaders(fields),
    ...(keyHeader === undefined ? {} : { keyHeader }),
    session: fields.oneOf('session', ['per-caller', 'shared'] as const) ?? 'per-caller',
    refreshIntervalMs:
      fields.durationMs('refreshInterval', MIN_REFRESH_MS, MAX_REFRESH_MS) ?? DEFAULT_MCP_REFRESH_MS,
    features: readFeatures(fields),
  }
  const read = authentication === undefined ? NO_AUTHENTICATION : readAuthenticationFields(authentication)
  fields.close()
  reportUnused(spec)
  return { source, authentication: read }
}

const NO_AUTHENTICATION: DeclaredAuthentication = { type: 'none' }

const FEATURES = ['tools', 'resources', 'prompts'] as const

function readFeatures(fields: ResourceFields): McpSource['features'] {
  const given = fields.list('features')
  if (given === undefined) return FEATURES
  const known = FEATURES.filter(feature => given.includes(feature))
  if (known.length === 0 || given.some(name => !FEATURES.includes(name as (typeof FEATURES)[number])))
    fields.fault(
      'features',
      'is empty or contains an unknown feature',
      `write one or more of ${FEATURES.join(', ')}`,
    )
  return known
}

function readHeaders(parent: ResourceFields): { readonly [name: string]: string } {
  const fields = parent.object('headers')
  if (fields === undefined) return {}
  const read: [string, string][] = []
  for (const name of fields.names) {
    const fix = 'write printable ASCII, at most 1024 characters'
    const value = fields.string(name, { max: 1024, pattern: HEADER_VALUE, fix })
    if (!HEADER_NAME.test(name)) fields.fault(name.slice(0, 60), 'is not a valid header name', 'rename it')
    else if (RESERVED.test(name))
      fields.fault(
        name,
        'is reserved for the gateway',
        'remove it; write credentials in spec.source.mcp.authentication',
      )
    else if (value !== undefined) read.push([name, value])
  }
  if (read.length > MAX_HEADERS) parent.fault('headers', `has more than ${MAX_HEADERS} entries`, 'shorten it')
  return Object.fromEntries(read)
}

/** What only an OpenAPI document has. */
function reportUnused(spec: ResourceFields): void {
  const document = 'remove it: the gateway reads the tools from spec.source.mcp'
  for (const name of ['openAPISpec', 'baseURL', 'overlays', 'upstream']) {
    if (spec.has(name)) spec.fault(name, 'is set together with spec.source', document)
  }
  const selector = spec.raw('selector')
  const defaults = spec.raw('toolDefaults')
  for (const name of ['methods', 'pathPrefix'])
    if (hasField(selector, name)) spec.fault(`selector.${name}`, 'does not apply to an MCP server', document)
  if (hasField(defaults, 'authentication'))
    spec.fault(
      'toolDefaults.authentication',
      'does not apply to an MCP server',
      'move it to spec.source.mcp.authentication',
    )
}

function hasField(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
}
