/** Liveness, readiness and the state of the gateway. Public; it tells no name of a tenant or tool. */
import type { Call } from './call.ts'
import type { GatewayParts } from './gateway.ts'

/** GET /health: the process answers. */
export function health(call: Call): void {
  call.respond(200, { status: 'ok' })
}

/** GET /ready: 503 until the first snapshot and the signing keys are loaded, and while draining. */
export function ready(parts: GatewayParts, call: Call): void {
  const waitingFor = [
    ...(parts.snapshot() === undefined ? ['snapshot'] : []),
    ...(parts.keysReady() ? [] : ['signing_keys']),
    ...(parts.draining() ? ['draining'] : []),
  ]
  if (waitingFor.length === 0) call.respond(200, { status: 'ready' })
  else call.respond(503, { status: 'not_ready', waiting_for: waitingFor })
}

/** GET /mcp/health (contract §3). */
export function mcpHealth(parts: GatewayParts, call: Call): void {
  const statistics = parts.sessions.statistics(call.receivedAtMs)
  if (statistics instanceof Promise)
    void statistics.then(({ active_sessions }) => respondWithHealth(parts, call, active_sessions))
  else respondWithHealth(parts, call, statistics.active_sessions)
}

function respondWithHealth(parts: GatewayParts, call: Call, activeSessions: number): void {
  const snapshot = parts.snapshot()
  const fault = parts.snapshotFault()
  const draining = parts.draining()
  const degraded = snapshot === undefined || fault !== undefined || !parts.keysReady()
  call.respond(draining ? 503 : 200, {
    status: draining ? 'draining' : degraded ? 'degraded' : 'healthy',
    tools: snapshot?.toolCount ?? 0,
    active_sessions: activeSessions,
    version: parts.version,
    snapshot: snapshot?.version ?? null,
    ...(fault === undefined ? undefined : { reason: fault }),
  })
}
