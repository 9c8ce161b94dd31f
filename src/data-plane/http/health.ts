/** Liveness, readiness and state of the gateway, for public endpoints. */
import type { Call } from './call.ts'
import type { GatewayParts } from './gateway.ts'

const RETRY_SOON = ['retry-after', '1']
const NOT_SERVED = 'the newest configuration is not served; for the reason, see the log or GET /admin/workers'
const SEE_FAULTS = 'for the reason, see the log or GET /admin/overview'
/** The part that has no metric: a configuration that does not compile. */
const CONFIGURATION = 'configuration'

/** GET /health */
export function health(call: Call): void {
  call.respond(200, { status: 'ok' })
}

/** What the gateway needs before it can serve every call; empty when it is ready. */
export function waitingFor({ snapshot, keysReady, memoryFull, draining }: GatewayParts): readonly string[] {
  return [
    ...(snapshot() === undefined ? ['snapshot'] : []),
    ...(keysReady() ? [] : ['signing_keys']),
    ...(memoryFull() ? ['memory'] : []),
    ...(draining() ? ['draining'] : []),
  ]
}

/** GET /ready: 503 until the first snapshot and the signing keys are loaded, while the memory is full, and while draining. */
export function ready(parts: GatewayParts, call: Call): void {
  const waiting = waitingFor(parts)
  if (waiting.length === 0) return call.respond(200, { status: 'ready' })
  const status = parts.draining() ? 'draining' : 'not_ready'
  call.respond(503, { status, waiting_for: waiting }, RETRY_SOON)
}

/** GET /mcp/health (docs/reference/http.md, Health). It has the status code of `/ready`: load balancers use either. */
export async function mcpHealth(parts: GatewayParts, call: Call): Promise<void> {
  const sessions = await parts.sessions.statistics(call.receivedAtMs)
  const snapshot = parts.snapshot()
  const faultyParts = parts.faultyParts()
  const isServed = parts.snapshotFault() === undefined
  const faults = [
    ...(isServed ? [] : [NOT_SERVED]),
    ...(faultyParts.length === 0 ? [] : [`faulty parts: ${faultyParts.join(', ')}; ${SEE_FAULTS}`]),
  ]
  const waiting = waitingFor(parts)
  const body = {
    status: parts.draining() ? 'draining' : faults.length > 0 || waiting.length > 0 ? 'degraded' : 'healthy',
    tools: snapshot?.toolCount ?? 0,
    active_sessions: sessions?.active_sessions ?? null,
    version: parts.version,
    snapshot: snapshot?.version ?? null,
    ...(faults.length === 0
      ? undefined
      : { reason: faults.join('; '), parts: isServed ? faultyParts : [CONFIGURATION, ...faultyParts] }),
    ...(waiting.length === 0 ? undefined : { waiting_for: waiting }),
  }
  if (waiting.length === 0) call.respond(200, body)
  else call.respond(503, body, RETRY_SOON)
}
