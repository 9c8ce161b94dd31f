/** Finds which notifications of changed lists are due to a caller between two snapshots. */

import { andThen, type MaybePromise, whenAll } from '../../base/and-then.ts'
import type { Principal } from '../../model/principal.ts'
import { offeredTools } from '../listing/offered-tools.ts'
import { isSameForm, toolsForm, type View } from '../listing/tool-view.ts'
import { isOffered, type Offer, offerOf } from '../pipeline/offer.ts'
import type { Selection } from '../pipeline/selection.ts'
import type { Snapshot, ToolListing } from '../snapshot/snapshot.ts'
import type { CallerListing, List } from './caller-listing.ts'

export function listingChanges(listingOf: CallerListing) {
  return (
    owner: {
      readonly principal: Principal
      readonly tenant: string | undefined
      readonly version: View
      readonly selection: Selection
    },
    previous: Snapshot,
    next: Snapshot,
  ): MaybePromise<readonly string[]> => {
    const { tenant, version, selection } = owner
    const offers = [previous, next].map(snapshot => offerOf(snapshot, owner, selection))
    const hasFeatures = previous.featuresOf(tenant).size + next.featuresOf(tenant).size > 0
    const lists = hasFeatures ? LISTS : LISTS.slice(0, 1)
    const changes = lists.map(list => {
      const both = [previous, next].map(snapshot => listingOf(owner, snapshot, list))
      return andThen(whenAll(both), ([before, after]) =>
        list === 'tools.list'
          ? differ([before, after], offers, version)
          : featuresDiffer([before, after], offers),
      )
    })
    return andThen(whenAll(changes), changed => lists.filter((_, at) => changed[at]).map(notificationOf))
  }
}

type Listings = readonly (ToolListing | undefined)[]
const LISTS: readonly List[] = ['tools.list', 'resources.list', 'prompts.list']

function notificationOf(list: List): string {
  return `notifications/${list.slice(0, -'.list'.length)}/list_changed`
}

/** What lists show of a feature is all in the feature. */
function featuresDiffer(listings: Listings, offers: readonly Offer[]): boolean {
  const [a, b] = listings.map((listing, at) =>
    JSON.stringify(
      listing?.tools.filter(({ tool }) => isOffered(tool, offers[at]!)).map(({ tool }) => tool.feature),
    ),
  )
  return a === undefined || b === undefined || a !== b
}

/** A list that the policy could not decide counts as changed: the client must read it again. */
function differ([before, after]: Listings, offers: readonly Offer[], view: View): MaybePromise<boolean> {
  if (before === undefined || after === undefined) return true
  const forms = whenAll(
    [before, after].map((listing, at) => toolsForm(offeredTools(listing, offers[at]!), view)),
  )
  return andThen(forms, ([a, b]) => !isSameForm(a!, b!))
}
