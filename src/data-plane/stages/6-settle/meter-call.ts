/** Passes the events of metered calls to the meter, and refuses such calls while the meter is not ready. `metering/` implements the meter. */

import { oncePer } from '../../../base/once-per.ts'
import type { MeteredOutcome } from '../../../link/metering-event.ts'
import type { Principal } from '../../../model/principal.ts'
import { type RefusalReason, refuse } from '../../../model/refusal.ts'
import type { CallOrigin, Meter } from '../../metering/meter.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isCall, type Operation } from '../../pipeline/operation.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { CompiledApi, CompiledTool } from '../../snapshot/snapshot.ts'
import { entitlementOf } from '../shared/entitlement.ts'
import { statusOf } from './record-metrics.ts'

/** Outcomes that do not follow from the status. */
const OUTCOME_OF: { readonly [R in RefusalReason]?: MeteredOutcome } = {
  tool_execution_failed: 'backend_error',
  backend_unreachable: 'backend_unreachable',
  upstream_unavailable: 'backend_unreachable',
  upstream_busy: 'backend_unreachable',
  backend_timeout: 'timeout',
  quota_exceeded: 'rate_limited',
  internal_error: 'backend_error',
  policy_unavailable: 'denied',
}

export interface Metering {
  /** Refuses calls that become events while these cannot be stored; lists, sessions and administration go on. */
  readonly admit: Stage
  readonly settle: Stage
}

export function meterCalls(meter: Meter): Metering {
  const origins = new Origins()
  return {
    admit: {
      id: 'admit-metered',
      phase: 'admit',
      run: ({ operation }) => (meter.ready || !isMetered(operation) ? undefined : UNMETERED),
    },
    settle: {
      id: 'meter-call',
      phase: 'settle',
      run(exchange) {
        const { principal, operation, final } = exchange
        if (principal === undefined || !isMetered(operation)) return undefined
        const { backendMs } = exchange
        return meter.record(origins.of(exchange, principal), {
          occurredAtMs: exchange.receivedAtMs,
          requestId: exchange.requestId,
          outcome: outcomeOf(exchange),
          statusCode: statusOf(exchange),
          latencyUs: Math.round(exchange.durationMs * 1000),
          backendLatencyUs: backendMs < 0 ? -1 : Math.round(backendMs * 1000),
          requestBytes: exchange.requestBytes,
          responseBytes: exchange.responseBytes,
          tokensSavedBytes: exchange.optimized?.savedBytes ?? 0,
          cacheHit: exchange.cacheHit,
          counted: exchange.quota !== undefined,
          decisionId: final?.kind === 'refusal' ? (final.decisionId ?? '') : '',
        })
      },
    },
  }
}

function isMetered(operation: Operation): boolean {
  return isCall(operation) || operation.action === 'proxy'
}

const UNMETERED = refuse('overloaded', {
  message: 'This gateway instance cannot meter calls at the moment. Retry later.',
})

function outcomeOf({ final }: Exchange): MeteredOutcome {
  if (final === undefined) return 'success'
  if (final.kind === 'reply') return final.failure === undefined ? 'success' : OUTCOME_OF[final.failure]!
  const known = OUTCOME_OF[final.reason]
  if (known !== undefined) return known
  const { status } = final.row
  if (status === 401 || status === 403) return 'denied'
  if (status === 404) return 'not_found'
  return status === 429 ? 'rate_limited' : 'invalid'
}

interface Known {
  readonly origin: CallOrigin
  readonly snapshotVersion: string
}

/** Caches the origin of each caller and target; the meter keeps its encoded form on it. Collected with the snapshot or the principal. */
class Origins {
  readonly #known = oncePer((_: CompiledTool | CompiledApi) => new WeakMap<Principal, Known>())

  of(exchange: Exchange, principal: Principal): CallOrigin {
    const { operation, snapshot } = exchange
    const target = operation.action === 'proxy' ? operation.api : exchange.tool
    if (target === undefined) return originOf(exchange, principal)
    const ofTarget = this.#known(target)
    const known = ofTarget.get(principal)
    const { origin } = known ?? {}
    if (
      origin !== undefined &&
      known!.snapshotVersion === snapshot.version &&
      origin.access === exchange.access &&
      origin.policyRevision === snapshot.policy.revision &&
      origin.subscriptionId === (entitlementOf(exchange, principal).subscriptionId ?? '')
    )
      return origin
    const made = originOf(exchange, principal)
    // acting for another tenant is rare: not cached
    if (exchange.tenant === principal.tenant)
      ofTarget.set(principal, { origin: made, snapshotVersion: snapshot.version })
    return made
  }
}

function originOf(exchange: Exchange, principal: Principal): CallOrigin {
  const { operation, tool, snapshot, access, tenant } = exchange
  const api = operation.action === 'proxy' ? operation.api : undefined
  const tenantName = api?.tenant ?? tenant
  return {
    tenantId: tenantName === undefined ? '' : (snapshot.tenantIdOf(tenantName) ?? tenantName),
    consumerId: principal.consumer,
    subscriptionId: entitlementOf(exchange, principal).subscriptionId ?? '',
    apiId: api?.id ?? tool?.tool.apiId ?? '',
    // never the caller's text: only names of existing tools
    tool: tool?.tool.name ?? '',
    toolset: tool?.tool.toolSet ?? '',
    access: access === 'rest' || access === 'proxy' ? access : 'jsonrpc',
    policyRevision: snapshot.policy.revision,
    encoded: undefined,
  }
}
