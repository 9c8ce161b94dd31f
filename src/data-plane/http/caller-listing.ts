/** Runs the stage that lists tools, resources or prompts for a caller, without a request of that caller. */

import { andThen, type MaybePromise } from '../../base/and-then.ts'
import type { Principal } from '../../model/principal.ts'
import { exchangeWithoutRequest } from '../pipeline/exchange.ts'
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
    const operation = { action }
    const exchange = exchangeWithoutRequest({
      access: 'jsonrpc',
      snapshot,
      operation,
      receivedAtMs: Date.now(),
    })
    exchange.principal = principal
    exchange.tenant = tenant
    return andThen(listTools.run(exchange), () => exchange.listing)
  }
}
