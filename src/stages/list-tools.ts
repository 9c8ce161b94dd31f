/** Finds the tools a caller may call, by the same rules that decide calls. It serializes nothing. */
import type { CompiledTool, Exchange, ToolListing } from '../pipeline/exchange.ts'
import type { Outcome, Stage } from '../pipeline/stage.ts'
import type { Decision } from '../policy/engine.ts'
import { subjectKeyOf } from './authorize.ts'
import { listingInput } from './policy-input.ts'

/** Classes of callers whose listing is remembered per snapshot; beyond it listings are made anew each time. */
const REMEMBERED_LISTINGS = 1024

export function listTools(): Stage {
  function keep(exchange: Exchange, key: string, allowed: readonly CompiledTool[]): Outcome {
    const listing: ToolListing = { tools: allowed, forms: new Map() }
    if (exchange.snapshot.listings.size < REMEMBERED_LISTINGS) exchange.snapshot.listings.set(key, listing)
    exchange.listing = listing
    return undefined
  }

  return {
    id: 'list-tools',
    phase: 'invoke',
    run(exchange) {
      if (exchange.operation.action !== 'tools.list') return undefined
      const key = subjectKeyOf(exchange)
      const remembered = exchange.snapshot.listings.get(key)
      if (remembered !== undefined) {
        exchange.listing = remembered
        return undefined
      }
      const entries = [...exchange.snapshot.toolsOf(exchange.tenant).values()]
      const decisions = entries.map(entry =>
        exchange.snapshot.policy.decide(listingInput(exchange, entry), key, entry.index),
      )
      if (decisions.some(decision => decision instanceof Promise)) {
        return Promise.all(decisions).then(all => keep(exchange, key, allowedOf(entries, all)))
      }
      return keep(exchange, key, allowedOf(entries, decisions as Decision[]))
    },
  }
}

function allowedOf(
  entries: readonly CompiledTool[],
  decisions: readonly Decision[],
): readonly CompiledTool[] {
  return entries.filter((_, at) => decisions[at]!.allow)
}
