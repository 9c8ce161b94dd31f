/** Liveness, readiness and state of the gateway. Public: responses name no tenant and no tool. */
import type { Call } from './call.ts'
import type { GatewayParts } from './gateway.ts'

/** GET /health */
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

/** GET /mcp/health (docs/reference/http.md, Health). */
export async function mcpHealth(parts: GatewayParts, call: Call): Promise<void> {
  const { active_sessions } = await parts.sessions.statistics(call.receivedAtMs)
  const snapshot = parts.snapshot()
  const fault = parts.snapshotFault()
  const draining = parts.draining()
  const degraded = snapshot === undefined || fault !== undefined || !parts.keysReady()
  call.respond(draining ? 503 : 200, {
    status: draining ? 'draining' : degraded ? 'degraded' : 'healthy',
    tools: snapshot?.toolCount ?? 0,
    active_sessions,
    version: parts.version,
    snapshot: snapshot?.version ?? null,
    ...(fault === undefined ? undefined : { reason: fault }),
  })
}
