/** Which lists of one caller differ between two snapshots. It notifies no client. */
import type { Principal } from '../../model/principal.ts'
import { andThen, type MaybePromise, whenAll } from '../../shared/call/and-then.ts'
import { Cancellation } from '../../shared/call/cancellation.ts'
import { Exchange } from '../pipeline/exchange.ts'
import { isOffered, type Selection } from '../pipeline/selection.ts'
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
    action: List,
  ): MaybePromise<ToolListing | undefined> {
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
    const { principal, tenant, version, selection } = owner
    const hasFeatures = previous.featuresOf(tenant).size + next.featuresOf(tenant).size > 0
    const lists = hasFeatures ? LISTS : LISTS.slice(0, 1)
    const changes = lists.map(list => {
      const both = [previous, next].map(snapshot => listingOf(principal, tenant, snapshot, list))
      return andThen(whenAll(both), ([before, after]) =>
        list === 'tools.list'
          ? differ(before, after, version, selection)
          : featuresDiffer(before, after, selection),
      )
    })
    return andThen(whenAll(changes), changed => lists.filter((_, at) => changed[at]).map(notificationOf))
  }
}

type List = 'tools.list' | 'resources.list' | 'prompts.list'
const LISTS: readonly List[] = ['tools.list', 'resources.list', 'prompts.list']

function notificationOf(list: List): string {
  return `notifications/${list.slice(0, -'.list'.length)}/list_changed`
}

/** What lists show of a feature is all in the feature. */
function featuresDiffer(
  before: ToolListing | undefined,
  after: ToolListing | undefined,
  selection: Selection,
): boolean {
  if (before === undefined || after === undefined) return true
  const [a, b] = [before, after].map(({ tools }) =>
    JSON.stringify(tools.filter(({ tool }) => isOffered(tool, selection)).map(({ tool }) => tool.feature)),
  )
  return a !== b
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
