/** Names as the client counts them, with the prefix it puts before: too long or unusual ones are dropped without a word. */
import { Fault } from '../fault.ts'
import type { Step } from '../visit.ts'

const SHOWN = 5

export const names: Step = {
  id: 'names',
  async run({ client, serverName, tools }) {
    if (tools.length === 0) return { skipped: 'There is no tool to look at.' }
    const counted = (tool: string): string => client.nameAsCounted(serverName, tool)
    const odd = tools.map(tool => tool.name).filter(name => !client.nameCharacters.test(name))
    if (odd.length > 0) {
      throw new Fault(
        `${odd.length} of ${tools.length} names hold characters ${client.title} does not take: ${shown(odd)}.`,
        'Use letters, digits, _ and - only: set spec.naming, or another operationId.',
      )
    }
    const long = tools.map(tool => tool.name).filter(name => counted(name).length > client.maxNameLength)
    if (long.length > 0) {
      const [first] = long
      throw new Fault(
        `${long.length} of ${tools.length} names are too long for ${client.title}, such as ${counted(first!)} ` +
          `(${counted(first!).length} characters, at most ${client.maxNameLength}): ${shown(long)}.`,
        'Shorten spec.naming.prefix or the operationIds, or give the server a shorter name in the client.',
      )
    }
    const twice = tools.map(tool => tool.name).filter((name, at, all) => all.indexOf(name) !== at)
    if (twice.length > 0)
      throw new Fault(
        `Names that stand twice: ${shown(twice)}.`,
        'Set spec.naming.prefix to keep tool-sets apart.',
      )
    const longest = Math.max(...tools.map(tool => counted(tool.name).length))
    const warnings =
      client.maxTools !== undefined && tools.length > client.maxTools
        ? [`${client.title} uses at most ${client.maxTools} tools at once; ${tools.length} are listed.`]
        : []
    return { facts: [`The longest name has ${longest} of ${client.maxNameLength} characters.`], warnings }
  },
}

function shown(list: readonly string[]): string {
  return `${list.slice(0, SHOWN).join(', ')}${list.length > SHOWN ? `, and ${list.length - SHOWN} more` : ''}`
}
