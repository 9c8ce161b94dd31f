/** Opens a connection to an MCP server, with a transport and a version that the server supports, or one for an open session. */
import { randomUUID } from 'node:crypto'
import type { Cancellation } from '../../base/cancellation.ts'
import { isObject } from '../../base/json/is-object.ts'
import { shownAddress } from '../../base/shown-address.ts'
import { UNSUPPORTED_VERSION } from '../../model/rpc-errors.ts'
import type { Egress } from '../../net/egress/egress.ts'
import {
  type ClientInfo,
  type Dict,
  failure,
  type RequestOptions,
  type RpcFailure,
  type RpcOutcome,
  type ServerAddress,
} from '../protocol.ts'
import { isLegacyVersion, LATEST_LEGACY, MODERN_VERSION } from '../versions.ts'
import { openHttpSse } from './http-sse.ts'
import { McpConnection, type OnNotification } from './server-connection.ts'
import type { ServerSession } from './server-session-store.ts'
import { StreamableHttp } from './streamable-http.ts'

/** How a server was reached. */
export type Era = 'modern' | 'streamable' | 'sse'

export interface ConnectOptions {
  readonly egress: Egress
  readonly client: ClientInfo
  readonly timeoutMs: number
  /** For one message of an event stream of 2024-11-05. */
  readonly maxEventCharacters: number
  readonly cancellation?: Cancellation | undefined
  /** Reached the same server before: the others are not tried first. */
  readonly era?: Era | undefined
  /** Declared in a handshake: what calls over this connection can handle. None when absent. */
  readonly capabilities?: Dict | undefined
  /** Receives notifications that belong to no request. */
  readonly onNotification?: OnNotification | undefined
}

export interface Connected {
  readonly kind: 'connected'
  readonly connection: McpConnection
  readonly era: Era
  /** False: requests of all callers may share it, because the server keeps nothing between them. */
  readonly hasSession: boolean
  /** With it another connection can continue the session; those of HTTP with SSE end with their stream. */
  readonly session?: ServerSession
}

/** A server that does not know the first request may leave it without a response. */
const MAX_PROBE_MS = 3_000
const MAX_HANDSHAKE_BYTES = 1024 * 1024
/** Statuses by which a server says that it does not take a POST to this address (MCP 2025-03-26, "Backwards Compatibility"). */
const NOT_STREAMABLE: ReadonlySet<number> = new Set([400, 404, 405, 406, 415])

/** @returns a connection, or why there is none; nothing was executed in that case */
export async function connect(
  address: ServerAddress,
  options: ConnectOptions,
): Promise<Connected | RpcFailure> {
  const deadlineMs = performance.now() + options.timeoutMs
  const { transport } = address
  const { era } = options
  if (transport === 'sse' || (transport === 'auto' && era === 'sse'))
    return connectSse(address, options, deadlineMs)
  if (era !== 'streamable') {
    const modern = await connectModern(address, options, deadlineMs)
    if (modern !== undefined) return modern
  }
  const streamable = await connectStreamable(address, options, deadlineMs)
  if (streamable.kind === 'connected' || transport === 'streamable') return streamable
  if (streamable.reason !== 'not_mcp' && !NOT_STREAMABLE.has(streamable.status ?? 0)) return streamable
  const sse = await connectSse(address, options, deadlineMs)
  // a server of the newer transport has the more useful reason
  return sse.kind === 'connected' || sse.reason !== 'status' ? sse : streamable
}

/** @returns undefined when the server is one of the versions before */
async function connectModern(
  address: ServerAddress,
  options: ConnectOptions,
  deadlineMs: number,
): Promise<Connected | RpcFailure | undefined> {
  const connection = new McpConnection(options.client, options.onNotification)
  const wire = new StreamableHttp(options.egress, address, connection.onMessage)
  wire.takesSession = false
  connection.attach(wire)
  const whole = within(options, deadlineMs)
  const probe = { ...whole, timeoutMs: Math.min(whole.timeoutMs / 2, MAX_PROBE_MS) }
  const outcome = await connection.request('server/discover', {}, probe, true)
  if (outcome.kind === 'failure') {
    const { status = 0, reason } = outcome
    const isOlder =
      reason === 'not_mcp' || reason === 'timeout' || (status >= 400 && status < 500 && !isRefusal(status))
    return isOlder ? undefined : notExecuted(outcome, address)
  }
  if (outcome.kind === 'error') {
    const supported = isObject(outcome.data) ? outcome.data.supported : undefined
    if (outcome.code !== UNSUPPORTED_VERSION || !Array.isArray(supported)) return undefined
    return withoutModern(address, supported)
  }
  const { supportedVersions, capabilities } = outcome.result
  if (!Array.isArray(supportedVersions)) return undefined
  // a server may know the discovery and none of the versions that follow it
  if (!supportedVersions.includes(MODERN_VERSION)) return withoutModern(address, supportedVersions)
  connection.settle({ version: MODERN_VERSION, capabilities: isObject(capabilities) ? capabilities : {} })
  return { kind: 'connected', connection, era: 'modern', hasSession: false }
}

/** @returns undefined when one of the versions is negotiated by `initialize` */
function withoutModern(address: ServerAddress, versions: Dict[string][]): RpcFailure | undefined {
  const isOlder = versions.some(version => isLegacyVersion(String(version)))
  return isOlder ? undefined : unsupported(address, versions)
}

async function connectStreamable(
  address: ServerAddress,
  options: ConnectOptions,
  deadlineMs: number,
): Promise<Connected | RpcFailure> {
  const connection = new McpConnection(options.client, options.onNotification)
  const wire = new StreamableHttp(options.egress, address, connection.onMessage)
  connection.attach(wire)
  const version = await initialize(connection, address, options, deadlineMs)
  if (typeof version !== 'string') return version
  wire.version = version
  await connection.notify('notifications/initialized')
  const { hasSession, sessionId: id } = wire
  const logging = isObject(connection.server.capabilities.logging)
  const session = hasSession ? { session: { id, version, logging } } : {}
  return { kind: 'connected', connection, era: 'streamable', hasSession, ...session }
}

/** A connection for a session that another one has opened; it sends nothing. */
export function resumeSession(
  address: ServerAddress,
  { egress, client }: Pick<ConnectOptions, 'egress' | 'client'>,
  session: ServerSession,
): Connected {
  const connection = new McpConnection(client, undefined, `${randomUUID().slice(0, 8)}-`)
  const wire = new StreamableHttp(egress, address, connection.onMessage, session.id)
  wire.version = session.version
  connection.attach(wire)
  connection.settle({ version: session.version, capabilities: session.logging ? { logging: {} } : {} })
  return { kind: 'connected', connection, era: 'streamable', hasSession: true, session }
}

async function connectSse(
  address: ServerAddress,
  options: ConnectOptions,
  deadlineMs: number,
): Promise<Connected | RpcFailure> {
  const { egress, client, maxEventCharacters } = options
  const connection = new McpConnection(client, options.onNotification)
  const wire = await openHttpSse(egress, address, connection.onMessage, deadlineMs, maxEventCharacters)
  if ('kind' in wire) return wire
  connection.attach(wire)
  const version = await initialize(connection, address, options, deadlineMs)
  if (typeof version !== 'string') {
    await wire.close()
    return version
  }
  await connection.notify('notifications/initialized')
  return { kind: 'connected', connection, era: 'sse', hasSession: true }
}

/** @returns the version that the server chose */
async function initialize(
  connection: McpConnection,
  address: ServerAddress,
  options: ConnectOptions,
  deadlineMs: number,
): Promise<string | RpcFailure> {
  const params = {
    protocolVersion: LATEST_LEGACY,
    capabilities: options.capabilities ?? {},
    clientInfo: options.client,
  }
  const outcome = await connection.request('initialize', params, within(options, deadlineMs))
  if (outcome.kind !== 'result') return notExecuted(outcome, address)
  const { protocolVersion: version, capabilities } = outcome.result
  if (typeof version !== 'string' || !isLegacyVersion(version)) return unsupported(address, [version])
  connection.settle({ version, capabilities: isObject(capabilities) ? capabilities : {} })
  return version
}

function within({ cancellation }: ConnectOptions, deadlineMs: number): RequestOptions {
  const timeoutMs = Math.max(1, deadlineMs - performance.now())
  return { timeoutMs, maxResponseBytes: MAX_HANDSHAKE_BYTES, cancellation }
}

/** A credential is missing or wrong, or requests are too many; an older handshake would be refused likewise. */
function isRefusal(status: number): boolean {
  return status === 401 || status === 403 || status === 429
}

/** A handshake that fails has executed nothing. */
function notExecuted(outcome: Exclude<RpcOutcome, { kind: 'result' }>, { url }: ServerAddress): RpcFailure {
  if (outcome.kind === 'failure') return { ...outcome, sent: false }
  const said = `${outcome.message.slice(0, 200)} (${outcome.code})`
  return failure('not_mcp', `${shownAddress(url)} refused the MCP handshake: ${said}`, false)
}

function unsupported({ url }: ServerAddress, versions: Dict[string][]): RpcFailure {
  const named = versions
    .slice(0, 5)
    .map(version => (typeof version === 'string' ? version.slice(0, 20) : typeof version))
  return failure(
    'not_mcp',
    `${shownAddress(url)} supports only MCP versions that the gateway does not support: ${named.join(', ')}`,
    false,
  )
}
