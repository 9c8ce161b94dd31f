/** What a server says of itself to one caller at one address: `serverInfo` and `instructions` of initialize and `server/discover`. */
import { andThen, type MaybePromise } from '../../base/and-then.ts'
import type { ProtocolVersion } from '../../mcp/versions.ts'
import { type OfferedTools, offeredTools } from '../listing/offered-tools.ts'
import { SEARCH_INSTRUCTIONS, SOME_SEARCHED_INSTRUCTIONS } from '../listing/search-tools.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { type Offer, offerOf } from '../pipeline/offer.ts'
import type { Selection } from '../pipeline/selection.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { GatewayParts } from './gateway.ts'
import { serverInfoOf } from './presentation.ts'

export interface Introduction {
  readonly serverInfo: object
  readonly instructions: string | undefined
}

/** For tools that did not fit into the list. */
const MAX_NAMED = 50

/** @param caller an exchange whose credentials were checked; undefined: without credentials */
export function introduce(
  parts: GatewayParts,
  snapshot: Snapshot,
  caller: Exchange | undefined,
  selection: Selection,
  version: ProtocolVersion,
): MaybePromise<Introduction> {
  const offer = offerOf(snapshot, caller ?? {}, selection)
  return andThen(budgeted(parts, caller, offer), offered => ({
    serverInfo: serverInfoOf(parts, version, offer.view?.view),
    instructions: instructionsOf(parts, offer, offered),
  }))
}

/** Names what does not fit only to a caller who is known, and no tool that this caller may not use. */
function budgeted(
  { listingOf }: GatewayParts,
  caller: Exchange | undefined,
  offer: Offer,
): MaybePromise<OfferedTools | undefined> {
  if (caller === undefined || offer.view?.view.tokenBudget === undefined) return undefined
  return andThen(listingOf(caller), listing =>
    listing === undefined ? undefined : offeredTools(listing, offer),
  )
}

function instructionsOf(
  { presentation }: GatewayParts,
  { selection, view }: Offer,
  offered: OfferedTools | undefined,
): string | undefined {
  const parts = [view?.view.instructions ?? presentation.instructions]
  if (selection.tools === 'search') parts.push(SEARCH_INSTRUCTIONS)
  else if (offered?.isSearched) parts.push(SOME_SEARCHED_INSTRUCTIONS)
  const leftOut = offered?.leftOut ?? []
  if (leftOut.length > 0) {
    const names = leftOut.slice(0, MAX_NAMED).map(({ tool }) => tool.name)
    const more = leftOut.length > MAX_NAMED ? ` and ${leftOut.length - MAX_NAMED} more` : ''
    parts.push(
      `The tool list contains only the first tools of this view. Not listed (${leftOut.length}): ${names.join(', ')}${more}.`,
    )
  }
  const said = parts.filter(part => part !== undefined)
  return said.length === 0 ? undefined : said.join('\n\n')
}
