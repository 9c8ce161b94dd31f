/** The number of tools and the size of their definitions, against what the client uses at once. Tokens are estimated, not counted. */
import type { Step } from '../visit.ts'

/** Of JSON with English text; models differ by a fifth or so. */
const BYTES_PER_TOKEN = 4

export const limits: Step = {
  id: 'limits',
  async run({ client, tools, definitionBytes }) {
    if (tools.length === 0) return { skipped: 'The list has no tools.' }
    const tokens = Math.ceil(definitionBytes / BYTES_PER_TOKEN)
    const { title, maxTools, maxDefinitionTokens } = client
    const warnings: string[] = []
    if (maxTools !== undefined && tools.length > maxTools)
      warnings.push(
        `${title} uses at most ${maxTools} tools of all its servers together; this server lists ${tools.length}. ` +
          'Give this client an address that offers fewer tools (?tools=search, /mcp/{toolset}, ?tags=), narrow spec.selector, or use a token with fewer scopes.',
      )
    if (maxDefinitionTokens !== undefined && tokens > maxDefinitionTokens)
      warnings.push(
        `${title} does not pass tool definitions of more than ${maxDefinitionTokens} tokens to the model at once. Use ?tools=search or ?form=compact, narrow spec.selector, or shorten descriptions.`,
      )
    const bound = maxTools === undefined ? '' : ` of at most ${maxTools}`
    return {
      facts: [
        `Tools: ${tools.length}${bound}; their definitions are about ${tokens} tokens (bytes / ${BYTES_PER_TOKEN}).`,
      ],
      warnings,
    }
  },
}
