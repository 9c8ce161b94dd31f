/** Whether the tools that one caller sees differ between two snapshots. It notifies no client. */
import type { Principal } from '../../model/principal.ts'
import { andThen, type MaybePromise, whenAll } from '../../shared/call/and-then.ts'
import { Cancellation } from '../../shared/call/cancellation.ts'
import { Exchange } from '../pipeline/exchange.ts'
import type { Selection } from '../pipeline/selection.ts'
import type { Stage } from '../pipeline/stage.ts'
import type { Snapshot, ToolListing } from '../snapshot/snapshot.ts'
import { offeredTools } from './offered-tools.ts'
import { isSameForm, toolsForm, type View } from './tool-view.ts'

/** @param listTools the stage, so that the same rule applies as to requests */
export function listingChanges(listTools: Stage) {
  function listingOf(
    principal: Principal,
    tenant: string | undefined,
    snapshot: Snapshot,
  ): MaybePromise<ToolListing | undefined> {
    const exchange = new Exchange({
      requestId: '',
      traceId: '',
      access: 'jsonrpc',
      snapshot,
      operation: { action: 'tools.list' },
      credentials: { authorization: '', apiKey: '', tenant: '' },
      peer: { peerAddress: '' },
      cancellation: new Cancellation(),
      receivedAtMs: Date.now(),
    })
    exchange.principal = principal
    exchange.tenant = tenant
    return andThen(listTools.run(exchange), () => exchange.listing)
  }

  return (
    owner: {
      readonly principal: Principal
      readonly tenant: string | undefined
      readonly version: View
      readonly selection: Selection
    },
    previous: Snapshot,
    next: Snapshot,
  ): MaybePromise<boolean> => {
    const before = listingOf(owner.principal, owner.tenant, previous)
    const after = listingOf(owner.principal, owner.tenant, next)
    return andThen(whenAll([before, after]), ([a, b]) => differ(a, b, owner.version, owner.selection))
  }
}

/** A list that the policy could not decide counts as changed: the client must read it again. */
function differ(
  before: ToolListing | undefined,
  after: ToolListing | undefined,
  view: View,
  selection: Selection,
): MaybePromise<boolean> {
  if (before === undefined || after === undefined) return true
  const forms = whenAll([before, after].map(listing => toolsForm(offeredTools(listing, selection), view)))
  return andThen(forms, ([a, b]) => !isSameForm(a!, b!))
}
