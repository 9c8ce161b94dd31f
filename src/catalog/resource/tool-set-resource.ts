/** Reads the spec of a ToolSet resource: by its schema, and by the rules between its fields. */
import type { ResourceFault } from '../../model/resource-fault.ts'
import { HEADER_NAME, MAX_HEADER_NAME } from '../../model/schema/backend-authentication.ts'
import { FEATURES, MAX_HEADERS, type ToolSetSpec, toolSetSpec } from '../../model/schema/tool-set-spec.ts'
import { AUTHENTICATION_TYPES, isPerCaller } from '../../model/tool.ts'
import {
  DEFAULT_MCP_REFRESH_MS,
  DEFAULT_NAMING,
  DEFAULT_REFRESH_INTERVAL_MS,
  DEFAULT_TOOL_DEFAULTS,
  type McpSource,
  type OpenApiSource,
  type OperationSelector,
  type ToolDefaults,
  type ToolSet,
} from '../../model/tool-set.ts'
import { chosenTransport } from '../../model/upstream-transport.ts'
import { checkAuthentication, toAuthentication } from './authentication.ts'
import { checkOverlays, toOverlay } from './overlays.ts'
import type { ResourceMeta } from './resource-meta.ts'
import { readSpec, type SpecPart } from './spec-rules.ts'
import { distinct, toMs, toToolFields } from './tool-fields.ts'

/** Set by the gateway, or part of HTTP framing. */
const RESERVED =
  /^(?:authorization|proxy-.*|host|connection|keep-alive|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept|accept-encoding|cookie|last-event-id|mcp-.*|traceparent|tracestate|baggage|x-request-id)$/i

/** @returns undefined when faults were added */
export function readToolSet(meta: ResourceMeta, spec: unknown, faults: ResourceFault[]): ToolSet | undefined {
  const read = readSpec(toolSetSpec, spec, 'spec', faults, checkToolSet)
  return read && toToolSet(meta, read)
}

function checkToolSet(spec: SpecPart): void {
  const server = spec.part('source').part('mcp')
  const defaults = spec.part('toolDefaults')
  checkDocumentSource(spec)
  checkAuthentication(defaults.part('authentication'))
  if (spec.has('source')) checkServer(spec, server)
  else if (spec.part('selector').has('annotations'))
    spec
      .part('selector')
      .fault(
        'annotations',
        'does not apply to an OpenAPI document',
        'remove it, and select by tags or methods',
      )
  const authentication = spec.has('source') ? server.part('authentication') : defaults.part('authentication')
  const ownTokens = typeOfOwnTokens(authentication)
  if (defaults.has('cache') && ownTokens !== undefined)
    defaults.fault(
      'cache',
      `is set, but each caller has its own token (type ${ownTokens})`,
      'remove it: callers share cached results',
    )
  checkOverlays(spec)
  for (const override of spec.parts('overrides')) {
    const given = override.part('arguments')
    for (const name of given.names) {
      const argument = given.part(name)
      if (argument.get('hidden') === true && argument.has('fixed'))
        argument.fault('hidden', 'is set together with fixed', 'remove it: a fixed argument is always hidden')
    }
  }
}

/** The type of an authentication in which each caller has its own token; undefined for others. */
function typeOfOwnTokens(authentication: SpecPart): string | undefined {
  const given = authentication.get('type')
  return AUTHENTICATION_TYPES.find(type => type === given && isPerCaller({ type }))
}

function checkDocumentSource(spec: SpecPart): void {
  if (!spec.has('openAPISpec')) return
  const source = spec.part('openAPISpec')
  const given = ['url', 'configMapRef', 'secretRef', 'inline'].filter(name => source.has(name))
  if (given.length !== 1) {
    const reason = given.length === 0 ? 'has no source' : `has ${given.length} sources (${given.join(', ')})`
    source.fault('', reason, 'write exactly one of url, configMapRef, secretRef, inline')
  } else if (source.has('refreshInterval') && !source.has('url'))
    source.fault(
      'refreshInterval',
      'is set without url',
      'remove it: the gateway fetches a document again only if url is set',
    )
}

function checkServer(spec: SpecPart, server: SpecPart): void {
  const document = 'remove it: the gateway reads the tools from spec.source.mcp'
  for (const name of ['openAPISpec', 'baseURL', 'overlays', 'upstream'])
    if (spec.has(name)) spec.fault(name, 'is set together with spec.source', document)
  const selector = spec.part('selector')
  for (const name of ['methods', 'pathPrefix'])
    if (selector.has(name)) selector.fault(name, 'does not apply to an MCP server', document)
  const defaults = spec.part('toolDefaults')
  if (defaults.has('authentication'))
    defaults.fault(
      'authentication',
      'does not apply to an MCP server',
      'move it to spec.source.mcp.authentication',
    )
  const authentication = server.part('authentication')
  checkAuthentication(authentication)
  if (authentication.has('header') && authentication.get('type') !== 'apiKey')
    authentication.fault(
      'header',
      'is set, but type is not apiKey',
      'remove it: other types use the header Authorization',
    )
  const ownTokens = typeOfOwnTokens(authentication)
  const isShared = server.get('session') === 'shared'
  if (isShared && ownTokens !== undefined)
    server.fault(
      'session',
      `is shared, but each caller has its own token (type ${ownTokens})`,
      'write per-caller',
    )
  if (!isShared && defaults.has('cache'))
    defaults.fault(
      'cache',
      'is set, but each caller has a separate session',
      'set spec.source.mcp.session to shared, or remove the cache: callers share cached results',
    )
  const headers = server.part('headers')
  for (const name of headers.names) {
    if (!HEADER_NAME.test(name) || name.length > MAX_HEADER_NAME)
      headers.fault(name.slice(0, 60), 'is not a valid header name', 'rename it')
    else if (RESERVED.test(name))
      headers.fault(
        name,
        'is reserved for the gateway',
        'remove it; write credentials in spec.source.mcp.authentication',
      )
  }
  if (headers.names.length > MAX_HEADERS)
    server.fault('headers', `has more than ${MAX_HEADERS} entries`, 'shorten it')
}

function toToolSet(meta: ResourceMeta, spec: ToolSetSpec): ToolSet {
  const { description, baseURL, overlays, overrides, listing, upstream } = spec
  const source = toSource(spec)
  const transport = upstream && chosenTransport(upstream)
  return {
    name: meta.name,
    namespace: meta.namespace,
    displayName: spec.displayName,
    ...(description === undefined ? {} : { description }),
    ...(source === undefined ? {} : { source }),
    ...(baseURL === undefined ? {} : { baseURL }),
    selector: toSelector(spec.selector),
    toolDefaults: toToolDefaults(spec),
    naming: { ...DEFAULT_NAMING, ...spec.naming },
    ...(overlays === undefined || overlays.length === 0 ? {} : { overlays: overlays.map(toOverlay) }),
    ...(overrides === undefined || overrides.length === 0 ? {} : { overrides: overrides.map(toOverride) }),
    ...(transport === undefined ? {} : { upstream: transport }),
    ...(listing === 'search' ? { listing } : {}),
    enabled: spec.enabled,
    ...(meta.acceptedSpecHash === undefined ? {} : { acceptedSpecHash: meta.acceptedSpecHash }),
  }
}

function toSource({ source, openAPISpec }: ToolSetSpec): OpenApiSource | McpSource | undefined {
  if (source !== undefined) {
    const {
      url,
      transport,
      session,
      trusted,
      headers = {},
      refreshInterval,
      features,
      authentication,
    } = source.mcp
    return {
      kind: 'mcp',
      url,
      transport,
      headers,
      ...(authentication?.header === undefined ? {} : { keyHeader: authentication.header }),
      session,
      ...(trusted ? { trusted } : {}),
      refreshIntervalMs: refreshInterval === undefined ? DEFAULT_MCP_REFRESH_MS : toMs(refreshInterval),
      features: features === undefined ? FEATURES : FEATURES.filter(feature => features.includes(feature)),
    }
  }
  const { url, refreshInterval, configMapRef, secretRef, inline } = openAPISpec ?? {}
  if (url !== undefined) {
    const refreshIntervalMs =
      refreshInterval === undefined ? DEFAULT_REFRESH_INTERVAL_MS : toMs(refreshInterval)
    return { kind: 'url', url, refreshIntervalMs }
  }
  if (configMapRef !== undefined) return { kind: 'configMap', ref: configMapRef }
  if (secretRef !== undefined) return { kind: 'secret', ref: secretRef }
  return inline === undefined ? undefined : { kind: 'inline', text: inline }
}

function toSelector(given: ToolSetSpec['selector'] = {}): OperationSelector {
  const { tags, excludeTags, methods, operationIds, ...rest } = given
  return {
    ...rest,
    ...(tags === undefined ? {} : { tags: distinct(tags) }),
    ...(excludeTags === undefined ? {} : { excludeTags: distinct(excludeTags) }),
    ...(methods === undefined ? {} : { methods: distinct(methods.map(method => method.toUpperCase())) }),
    ...(operationIds === undefined ? {} : { operationIds: distinct(operationIds) }),
  }
}

function toToolDefaults({ toolDefaults: given = {}, source }: ToolSetSpec): ToolDefaults {
  const authentication = source === undefined ? given.authentication : source.mcp.authentication
  return {
    ...DEFAULT_TOOL_DEFAULTS,
    ...toToolFields(given),
    ...(authentication === undefined ? {} : { authentication: toAuthentication(authentication) }),
    ...(given.outputSchema === undefined ? {} : { outputSchema: given.outputSchema }),
  }
}

type Override = NonNullable<ToolSetSpec['overrides']>[number]

function toOverride({ arguments: given, hidden = false, ...override }: Override) {
  if (given === undefined) return { ...override, hidden }
  const entries = Object.entries(given).map(
    ([name, argument]) => [name, { hidden: false, ...argument }] as const,
  )
  return { ...override, hidden, arguments: Object.fromEntries(entries) }
}
