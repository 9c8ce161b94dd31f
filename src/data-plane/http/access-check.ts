/** Decides again about what a caller has opened, an event stream or a call that takes long, as if it were opened now. */

import { continueWith, type MaybePending } from '../../base/and-then.ts'
import { CLOCK_SKEW_MS } from '../../identity/jwks.ts'
import type { Principal } from '../../model/principal.ts'
import { type Refusal, refuse } from '../../model/refusal.ts'
import { type Exchange, exchangeWithoutRequest } from '../pipeline/exchange.ts'
import { isCall, type Operation } from '../pipeline/operation.ts'
import type { Outcome } from '../pipeline/outcome.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { CallerListing, List } from './caller-listing.ts'

/** What was opened, and by whom. A credential is not part of it: nothing keeps its text. */
export type Opened = Pick<Exchange, 'principal' | 'tenant' | 'operation' | 'access' | 'receivedAtMs'> &
  Partial<Pick<Exchange, 'tool' | 'answers' | 'transport'>>

export type OpenedStream = Opened & { readonly principal: Principal }

/** For what outlives its exchange, which holds the text of the credential. */
export function openedBy({ principal, tenant, operation, access, receivedAtMs }: Exchange): OpenedStream {
  return { principal: principal!, tenant, operation, access, receivedAtMs }
}

export interface AccessCheck {
  /** Unix ms from which the credential, or the subscription it is for, does not count any more. */
  endOf(opened: Opened, snapshot: Snapshot, nowMs: number): number
  /** Why it would be refused now; undefined: it would not. */
  refusalOf(opened: Opened, snapshot: Snapshot, nowMs: number): MaybePending<Refusal | undefined>
}

interface AccessParts {
  /** The stages of the pipeline, so that the same rules apply as to requests. */
  readonly requireSubscription: Stage
  readonly authorize: Stage
  readonly listingOf: CallerListing
}

const LISTS: readonly List[] = ['tools.list', 'resources.list', 'prompts.list']

export function accessCheck({ requireSubscription, authorize, listingOf }: AccessParts): AccessCheck {
  function decided(exchange: Exchange): MaybePending<Refusal | undefined> {
    const { operation, tool } = exchange
    // a tool that is not offered any more: the call ends as it began, like any other
    if (isCall(operation) && tool === undefined) return undefined
    return continueWith(authorize.run(exchange), refusalIn)
  }

  /** Notifications are for callers that may list or use something. */
  async function mayListen(opened: Opened, snapshot: Snapshot, nowMs: number): Promise<Refusal | undefined> {
    let refusal: Refusal | undefined
    for (const action of LISTS) {
      const why = await decided(again(opened, { action }, snapshot, nowMs))
      // without a decision, nothing is known to be denied
      if (why === undefined || why.reason === 'policy_unavailable') return undefined
      const listing = await listingOf(opened, snapshot, action)
      if (listing === undefined || listing.tools.length > 0) return undefined
      refusal ??= why
    }
    return refusal
  }

  return {
    endOf,
    refusalOf(opened, snapshot, nowMs) {
      if (credentialEnd(opened, snapshot) <= nowMs)
        return refuse(opened.principal!.kind === 'api_key' ? 'api_key_invalid' : 'token_expired')
      const isStream = opened.operation.action === 'session'
      if (isStream && snapshot.isSuspended(opened.tenant)) return refuse('tenant_suspended')
      const exchange = again(opened, operationIn(snapshot, opened.operation), snapshot, nowMs)
      return continueWith(requireSubscription.run(exchange), outcome => {
        const refusal = refusalIn(outcome)
        if (refusal !== undefined) return refusal
        return isStream ? mayListen(opened, snapshot, nowMs) : decided(exchange)
      })
    },
  }
}

function refusalIn(outcome: Outcome): Refusal | undefined {
  return outcome?.kind === 'refusal' ? outcome : undefined
}

function endOf(opened: Opened, snapshot: Snapshot, nowMs: number): number {
  const principal = opened.principal!
  const { operation, tool } = opened
  const apiId = operation.action === 'proxy' ? operation.api.id : (tool?.tool.apiId ?? principal.apiIds?.[0])
  const { endsAtMs = Number.POSITIVE_INFINITY } = snapshot.entitlementOf(principal, apiId, nowMs)
  return Math.min(endsAtMs, credentialEnd(opened, snapshot))
}

function credentialEnd({ principal, receivedAtMs, transport }: Opened, snapshot: Snapshot): number {
  const { kind, subject, keyPrefix = '', expiresAtMs } = principal!
  if (kind === 'api_key') {
    const entry = snapshot.keyOf(keyPrefix)
    return entry?.id === subject ? entry.expiresAtMs : 0
  }
  // a task is its owner's, who asks for it with later tokens
  if (transport?.task?.begun === true) return Number.POSITIVE_INFINITY
  return expiresAtMs > receivedAtMs ? expiresAtMs : receivedAtMs + CLOCK_SKEW_MS
}

function operationIn(snapshot: Snapshot, operation: Operation): Operation {
  if (operation.action !== 'proxy') return operation
  return { ...operation, api: snapshot.apiOf(operation.api.id) ?? operation.api }
}

function again(opened: Opened, operation: Operation, snapshot: Snapshot, nowMs: number): Exchange {
  const { principal, tenant, access, tool, answers } = opened
  const exchange = exchangeWithoutRequest({ access, snapshot, operation, receivedAtMs: nowMs })
  exchange.principal = principal
  exchange.tenant = tenant
  exchange.answers = answers
  if (tool !== undefined)
    exchange.tool = (tool.tool.feature === undefined ? snapshot.toolsOf : snapshot.featuresOf)(tenant).get(
      tool.tool.name,
    )
  return exchange
}
