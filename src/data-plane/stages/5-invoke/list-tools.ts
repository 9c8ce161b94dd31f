/** Finds the tools a caller may call, by the same rules that decide calls. It serializes nothing. */

import { andThen, type MaybePromise, whenAll } from '../../../shared/call/and-then.ts'
import type { Decision } from '../../../shared/policy/engine.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Outcome } from '../../pipeline/outcome.ts'
import type { Stage } from '../../pipeline/stage.ts'
import type { CompiledTool, ToolListing } from '../../snapshot/snapshot.ts'
import { denial } from '../shared/denial.ts'
import { listingInput } from '../shared/policy-input.ts'
import { subjectKeyOf } from '../shared/subject-key.ts'

/** Classes of callers whose listing is cached per snapshot; further listings are computed for each request. */
const CACHED_LISTINGS = 1024

/** The tools that tenant and credential can reach at all. A suspended tenant can call none, a key those of its API. */
function reachable({ snapshot, tenant, principal }: Exchange): readonly CompiledTool[] {
  if (snapshot.isSuspended(tenant)) return []
  const entries = [...snapshot.toolsOf(tenant).values()]
  const apiId = principal?.apiId
  return apiId === undefined ? entries : entries.filter(({ tool }) => tool.apiId === apiId)
}

export function listTools(): Stage {
  function keep(
    exchange: Exchange,
    key: string,
    entries: readonly CompiledTool[],
    decisions: readonly Decision[],
  ): Outcome {
    // a list without the undecided tools would be wrong and stay cached with the snapshot
    const undecided = decisions.find(decision => decision.unavailable === true)
    if (undecided !== undefined) return denial(undecided, exchange.principal!)
    const allowed = entries.filter((_, at) => decisions[at]!.allow)
    const listing: ToolListing = { tools: allowed, forms: new Map() }
    if (exchange.snapshot.listings.size < CACHED_LISTINGS) exchange.snapshot.listings.set(key, listing)
    exchange.listing = listing
    return undefined
  }

  return {
    id: 'list-tools',
    phase: 'invoke',
    run(exchange) {
      if (exchange.operation.action !== 'tools.list') return undefined
      const key = subjectKeyOf(exchange)
      const cached = exchange.snapshot.listings.get(key)
      if (cached !== undefined) {
        exchange.listing = cached
        return undefined
      }
      const entries = reachable(exchange)
      const decisions: MaybePromise<Decision>[] = []
      for (const entry of entries) {
        const decision = exchange.snapshot.policy.decide(listingInput(exchange, entry), key, entry.index)
        decisions.push(decision)
        // each further evaluation might hold the thread as long as this one
        if (!(decision instanceof Promise) && decision.unavailable === true) break
      }
      return andThen(whenAll(decisions), all => keep(exchange, key, entries, all))
    },
  }
}
