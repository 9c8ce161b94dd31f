/** Verifies the credentials of a request while its body arrives, so that the pipeline can refuse the caller early. */
import { andThen, continueWith, type MaybePromise } from '../../base/and-then.ts'
import { Cancellation } from '../../base/cancellation.ts'
import type { Principal } from '../../model/principal.ts'
import type { Refusal } from '../../model/refusal.ts'
import type { ExchangeInit } from '../pipeline/exchange.ts'
import type { Operation } from '../pipeline/operation.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Call } from './call.ts'
import { type GatewayParts, runCall } from './gateway.ts'

/** For one request that has not been refused yet. */
export interface EarlyRefusal {
  /** To be called when the body has arrived; false when the caller has been refused in the meantime. */
  proceed(): boolean
}

/** For a request whose credentials are verified after its body. */
export const PROCEED: EarlyRefusal = { proceed: () => true }

/**
 * Verifies the credentials, once for the whole call: the pipeline takes up the result.
 * @param operation as which a refusal is counted and logged: the body, which could say more, is not read then
 * @param refuse sends the refusal; called at most once
 * @param patienceMs the body may need no credential: it is refused only when it has not arrived by then
 * @returns undefined when the caller has been refused: the body need not be read
 */
export function refuseEarly(
  parts: GatewayParts,
  call: Call,
  snapshot: Snapshot,
  access: ExchangeInit['access'],
  operation: Operation,
  refuse: (refusal: Refusal) => void,
  patienceMs = 0,
): EarlyRefusal | undefined {
  call.verified ??= parts.verifyCredentials(call, call.receivedAtMs)
  const { verified } = call
  if (isCaller(verified)) return PROCEED
  let state: 'waiting' | 'arrived' | 'refused' = 'waiting'
  const judge = (): void =>
    void andThen(verified, value => {
      if (value.kind !== 'refusal' || state !== 'waiting') return
      state = 'refused'
      settle(parts, call, snapshot, access, operation, refuse)
    })
  const timer = patienceMs === 0 ? undefined : setTimeout(judge, patienceMs).unref()
  if (timer === undefined) judge()
  else call.response.onAbort(() => clearTimeout(timer))
  if (isRefused()) return undefined
  return {
    proceed() {
      clearTimeout(timer)
      if (isRefused()) return false
      state = 'arrived'
      return true
    },
  }

  function isRefused(): boolean {
    return state === 'refused'
  }
}

/** Whether the credentials are known to be valid already. */
export function isCaller(verified: MaybePromise<Principal | Refusal>): verified is Principal {
  return 'kind' in verified && verified.kind !== 'refusal'
}

/** Through the pipeline, so that the attempt is counted and logged as that of any other call. */
function settle(
  parts: GatewayParts,
  call: Call,
  snapshot: Snapshot,
  access: ExchangeInit['access'],
  operation: Operation,
  refuse: (refusal: Refusal) => void,
): void {
  void continueWith(runCall(parts, snapshot, call, access, operation, new Cancellation()), ({ final }) => {
    if (final?.kind === 'refusal') refuse(final)
  })
}
