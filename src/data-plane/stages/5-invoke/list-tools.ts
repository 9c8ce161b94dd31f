/** The stage that lists the tools, resources or prompts that the policy lets a caller see, and caches such lists. */

import { andThen, type MaybePromise, whenAll } from '../../../base/and-then.ts'
import { beginInSlices } from '../../../base/async/slices.ts'
import type { Decision } from '../../../policy/engine.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { CompiledTool, Snapshot, ToolListing } from '../../snapshot/snapshot.ts'
import { denial } from '../shared/denial.ts'
import { listingKeyOf } from '../shared/listing-key.ts'
import { type List, listingInput } from '../shared/policy-input.ts'
import { subjectKeyOf } from '../shared/subject-key.ts'

/** Classes of callers whose listing is kept per snapshot; further listings are computed for each request. */
const CACHED_LISTINGS = 1024

/** The tools that tenant and credential can reach at all. A suspended tenant can call none, a key those of its APIs. */
function reachable({ snapshot, tenant, principal }: Exchange, list: List): readonly CompiledTool[] {
  if (snapshot.isSuspended(tenant)) return []
  const entries =
    list === 'tools.list'
      ? [...snapshot.toolsOf(tenant).values()]
      : [...snapshot.featuresOf(tenant).values()].filter(
          ({ tool }) => (tool.feature!.kind === 'prompt') === (list === 'prompts.list'),
        )
  const apiIds = principal?.apiIds
  if (apiIds === undefined) return entries
  return entries.filter(({ tool }) => tool.apiId !== undefined && apiIds.includes(tool.apiId))
}

/** An undecided tool ends the listing with its decision. */
type Listed = ToolListing | Decision

export function listTools(): Stage {
  /** Listings that take several turns, so that callers of one class wait for the same. */
  const pending = new WeakMap<Snapshot, Map<string, Promise<Listed>>>()

  function listing(exchange: Exchange, list: List, key: string | undefined): MaybePromise<Listed> {
    const known = key === undefined ? undefined : pending.get(exchange.snapshot)?.get(key)
    if (known !== undefined) return known
    const entries = reachable(exchange, list)
    const listed = andThen(beginInSlices(decisions(exchange, entries)), all =>
      andThen(whenAll(all), decided => listingOf(exchange.snapshot, key, entries, decided)),
    )
    if (key !== undefined && listed instanceof Promise) {
      const ofSnapshot = pending.get(exchange.snapshot) ?? new Map<string, Promise<Listed>>()
      pending.set(exchange.snapshot, ofSnapshot.set(key, listed))
      const finish = (): void => void ofSnapshot.delete(key)
      listed.then(finish, finish)
    }
    return listed
  }

  return {
    id: 'list-tools',
    phase: 'invoke',
    run(exchange) {
      const { action } = exchange.operation
      if (action !== 'tools.list' && action !== 'resources.list' && action !== 'prompts.list')
        return undefined
      const key = listingKeyOf(exchange, action)
      const cached = key === undefined ? undefined : exchange.snapshot.listings.get(key)
      return andThen(cached ?? listing(exchange, action, key), listed => {
        if ('allow' in listed) return denial(listed, exchange.principal!)
        exchange.listing = listed
        return undefined
      })
    },
  }
}

/** Yields after each decision. */
function* decisions(
  exchange: Exchange,
  entries: readonly CompiledTool[],
): Generator<void, readonly MaybePromise<Decision>[]> {
  const subject = subjectKeyOf(exchange)
  const made: MaybePromise<Decision>[] = []
  for (const entry of entries) {
    const decision = exchange.snapshot.policy.decide(listingInput(exchange, entry), subject, entry.index)
    made.push(decision)
    // each further evaluation might hold the thread as long as this one
    if (!(decision instanceof Promise) && decision.unavailable === true) break
    yield
  }
  return made
}

function listingOf(
  { listings }: Snapshot,
  key: string | undefined,
  entries: readonly CompiledTool[],
  decided: readonly Decision[],
): Listed {
  // a list without the undecided tools would be wrong and stay cached with the snapshot
  const undecided = decided.find(decision => decision.unavailable === true)
  if (undecided !== undefined) return undecided
  const listing: ToolListing = { tools: entries.filter((_, at) => decided[at]!.allow), forms: new Map() }
  if (key !== undefined && listings.size < CACHED_LISTINGS) listings.set(key, listing)
  return listing
}
