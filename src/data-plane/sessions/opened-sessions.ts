/** The opened stores of a data plane: its sessions, their keys, and sessions with MCP servers. Types only. */
import type { ServerSessionStore } from '../../mcp/client/server-session-store.ts'
import type { KeyRing } from './key-ring.ts'
import type { SessionStore } from './session-store.ts'

export interface OpenedSessions {
  readonly sessions: SessionStore
  /** Keys that also sign request states. */
  readonly keys: KeyRing
  /** Sessions with MCP servers, for the same threads and instances. */
  readonly servers: ServerSessionStore
}
