/** Refuses a call whose tool, resource or prompt was not resolved, and can suggest similar names of tools. */
import { refuse } from '../../../model/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isOffered, offerOf, shownName } from '../../pipeline/offer.ts'
import { isCall } from '../../pipeline/operation.ts'
import type { Selection } from '../../pipeline/selection.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { listingKeyOf } from '../shared/listing-key.ts'
import { nearNames } from './near-names.ts'

const SHOWN_NAME_CHARACTERS = 64

export function refuseUnknownTool(): Stage {
  return {
    id: 'refuse-unknown-tool',
    phase: 'limit',
    run(exchange) {
      const { operation, tool } = exchange
      if (!isCall(operation) || tool !== undefined) return undefined
      if (operation.action !== 'tools.call') return refuse('tool_not_found')
      const unknown = operation.tool.slice(0, SHOWN_NAME_CHARACTERS)
      return refuse('tool_not_found', {
        message: `Tool not found: ${unknown}${suggestion(exchange, operation.tool, operation.selection)}`,
      })
    },
  }
}

/** Names near the unknown one, of the tools in a kept list of this class of callers: no others may be revealed. */
function suggestion(exchange: Exchange, unknown: string, selection: Selection | undefined): string {
  if (exchange.principal === undefined) return ''
  const key = listingKeyOf(exchange, 'tools.list')
  const listed = key === undefined ? undefined : exchange.snapshot.listings.get(key)?.tools
  if (listed === undefined) return ''
  const offer = offerOf(exchange.snapshot, exchange, selection)
  const near = nearNames(
    unknown,
    listed.filter(({ tool }) => isOffered(tool, offer)).map(({ tool }) => shownName(tool, offer)),
  )
  return near.length === 0 ? '' : `. Similar names: ${near.join(', ')}.`
}
