/** Looks up the tool of a call among those of its tenant. It checks neither arguments nor permissions. */
import { refuse } from '../../../shared/call/refusal.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { subjectKeyOf } from '../shared/subject-key.ts'
import { nearNames } from './near-names.ts'

const SHOWN_NAME_CHARACTERS = 64

export function resolveTool(): Stage {
  return {
    id: 'resolve-tool',
    phase: 'identify',
    run(exchange) {
      const { operation } = exchange
      if (operation.action !== 'tools.call') return undefined
      const found = exchange.snapshot.toolsOf(exchange.tenant).get(operation.tool)
      if (found === undefined) {
        const unknown = operation.tool.slice(0, SHOWN_NAME_CHARACTERS)
        return refuse('tool_not_found', { message: `Tool not found: ${unknown}${suggestion(exchange)}` })
      }
      exchange.tool = found
      return undefined
    },
  }
}

/** Names near the unknown one, of the tools that this class of callers has listed: no others may be revealed. */
function suggestion(exchange: Exchange): string {
  const { operation, snapshot } = exchange
  if (operation.action !== 'tools.call' || exchange.principal === undefined) return ''
  const listed = snapshot.listings.get(subjectKeyOf(exchange))?.tools ?? []
  const near = nearNames(
    operation.tool,
    listed.map(({ tool }) => tool.name),
  )
  return near.length === 0 ? '' : `. Similar names: ${near.join(', ')}.`
}
