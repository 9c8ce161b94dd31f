/** Opens the sessions with MCP servers for the calls of one thread, with their metrics, and the watches of their resources. It connects to none. */

import { VERSION } from '../../base/version.ts'
import type { OpenedSessions } from '../../data-plane/sessions/opened-sessions.ts'
import { serverChannel } from '../../data-plane/sessions/session-store.ts'
import { ResourceWatches } from '../../mcp/client/resource-watches.ts'
import type { SessionRelay } from '../../mcp/client/server-session-store.ts'
import { McpSessions } from '../../mcp/client/sessions.ts'
import { BackendTokens } from '../../net/egress/oauth/backend-tokens.ts'
import type { AppContext } from './app-context.ts'

export function openMcpSessions(
  { upstreamEgress: egress, metrics, settings, closers }: AppContext,
  { sessions: callers, servers }: OpenedSessions,
): McpSessions {
  const relay: SessionRelay = {
    publish: (place, text) =>
      void Promise.resolve(callers.signal(serverChannel(place), { kind: 'server_message', text })).catch(
        () => {},
      ),
    listen: (place, listener) =>
      callers.listen(serverChannel(place), signal => {
        if (signal.kind === 'server_message') listener(signal.text)
      }),
  }
  const sessions = new McpSessions({
    egress,
    stored: { store: servers, relay },
    callerIdleMs: settings.sessions.ttlMs,
    client: { name: 'toolgate', version: VERSION },
    maxEventCharacters: settings.backendResponseMaxBytes,
  })
  closers.add('sessions with MCP servers', () => sessions.close())
  metrics.read('platform_mcp_server_sessions', () => sessions.open)
  metrics.read('platform_mcp_server_circuits_open', () => sessions.openCircuits)
  metrics.read('platform_mcp_server_connects_total', () => sessions.counts.connects)
  metrics.read('platform_mcp_server_resumed_total', () => sessions.counts.resumed)
  metrics.read('platform_mcp_server_retries_total', () => sessions.counts.retries)
  metrics.read('platform_mcp_server_refused_total', () => sessions.counts.refused)
  return sessions
}

export function openResourceWatches({ egress, upstreamEgress, clock, closers }: AppContext): ResourceWatches {
  const tokens = new BackendTokens({ egress, now: clock.now })
  const watches = new ResourceWatches({
    egress: upstreamEgress,
    tokens,
    client: { name: 'toolgate', version: VERSION },
  })
  closers.add('watched resources of MCP servers', () => watches.close())
  return watches
}
