/** Checks the tool names: characters, duplicates, and the length with what the client adds. */
import { Fault } from '../fault.ts'
import type { Step } from '../visit.ts'

const SHOWN = 5

export const names: Step = {
  id: 'names',
  async run({ client, serverName, tools }) {
    if (tools.length === 0) return { skipped: 'tools/list returned no tools.' }
    const showCount = (tool: string): string => client.nameAsCounted(serverName, tool)
    const odd = tools.map(tool => tool.name).filter(name => !client.nameCharacters.test(name))
    if (odd.length > 0) {
      throw new Fault(
        `${odd.length} of ${tools.length} tool names contain characters that ${client.title} does not accept: ${showList(odd)}.`,
        'Use only letters, digits, "_" and "-" in tool names: set spec.naming of the ToolSet, or change the operationId.',
      )
    }
    const long = tools.map(tool => tool.name).filter(name => showCount(name).length > client.maxNameLength)
    if (long.length > 0) {
      const [first] = long
      throw new Fault(
        `${client.title} allows ${client.maxNameLength} characters for a tool name, including any text that the client adds. ${long.length} of ${tools.length} ` +
          `tool names are longer: ${showList(long)}. The client uses the first of these names as "${showCount(first!)}" (${showCount(first!).length} characters).`,
        'Shorten spec.naming.prefix of the ToolSet or the operationIds, or shorten the name of the MCP server in the client.',
      )
    }
    const twice = tools.map(tool => tool.name).filter((name, at, all) => all.indexOf(name) !== at)
    if (twice.length > 0)
      throw new Fault(
        `Duplicate tool names: ${showList(twice)}.`,
        'Set a different spec.naming.prefix in each ToolSet.',
      )
    const longest = Math.max(...tools.map(tool => showCount(tool.name).length))
    return {
      facts: [
        `The longest tool name has ${longest} characters, including any text that the client adds; the client allows ${client.maxNameLength}.`,
      ],
    }
  },
}

function showList(list: readonly string[]): string {
  return `${list.slice(0, SHOWN).join(', ')}${list.length > SHOWN ? `, and ${list.length - SHOWN} more` : ''}`
}
