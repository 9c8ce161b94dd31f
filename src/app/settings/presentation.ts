/** How the gateway presents itself to MCP clients and registries: texts and addresses from the environment. */
import type { Presentation } from '../../model/presentation.ts'
import type { Reader } from './reader.ts'

const MAX_TITLE = 100
/** The official registry takes no longer one. */
const MAX_DESCRIPTION = 100
const MAX_INSTRUCTIONS = 4_000

export function readPresentation(read: Reader): Presentation {
  return {
    title: checkLength(read, 'SERVER_TITLE', read.optional('SERVER_TITLE'), MAX_TITLE),
    description: checkLength(
      read,
      'SERVER_DESCRIPTION',
      read.optional('SERVER_DESCRIPTION'),
      MAX_DESCRIPTION,
    ),
    websiteUrl: read.url('SERVER_WEBSITE'),
    iconUrl: read.url('SERVER_ICON', ['https:']),
    instructions: checkLength(
      read,
      'SERVER_INSTRUCTIONS',
      read.optional('SERVER_INSTRUCTIONS'),
      MAX_INSTRUCTIONS,
    ),
  }
}

function checkLength(read: Reader, name: string, text: string | undefined, max: number): string | undefined {
  if (text === undefined || text.length <= max) return text
  read.fault(name, `has ${text.length} characters.`, `Use at most ${max} characters.`)
  return undefined
}
