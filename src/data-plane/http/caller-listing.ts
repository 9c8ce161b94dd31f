/** Runs the stage that lists tools, resources or prompts for a caller, without a request of that caller. */

import { andThen, type MaybePromise } from '../../base/and-then.ts'
import { Cancellation } from '../../base/cancellation.ts'
import type { Principal } from '../../model/principal.ts'
import { Exchange } from '../pipeline/exchange.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { Snapshot, ToolListing } from '../snapshot/snapshot.ts'

export type List = 'tools.list' | 'resources.list' | 'prompts.list'

/** @returns undefined: the policy cannot decide now */
export type CallerListing = (
  caller: { readonly principal?: Principal | undefined; readonly tenant?: string | undefined },
  snapshot: Snapshot,
  action: List,
) => MaybePromise<ToolListing | undefined>

/** @param listTools the stage, so that the same rule applies as to requests */
export function callerListing(listTools: Stage): CallerListing {
  return ({ principal, tenant }, snapshot, action) => {
    const exchange = new Exchange({
      requestId: '',
      traceId: '',
      access: 'jsonrpc',
      snapshot,
      operation: { action },
      credentials: { authorization: '', apiKey: '', tenant: '' },
      peer: { peerAddress: '' },
      cancellation: new Cancellation(),
      receivedAtMs: Date.now(),
    })
    exchange.principal = principal
    exchange.tenant = tenant
    return andThen(listTools.run(exchange), () => exchange.listing)
  }
}
