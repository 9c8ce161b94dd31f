/** Compares the number of tools and the size of their definitions with the limits of the client. Tokens are estimated, not counted. */
import type { Step } from '../visit.ts'

/** Bytes per token of JSON with English text; models differ by a fifth or so. */
const BYTES_PER_TOKEN = 4

export const limits: Step = {
  id: 'limits',
  async run({ client, tools, definitionBytes }) {
    if (tools.length === 0) return { skipped: 'tools/list returned no tools.' }
    const tokens = Math.ceil(definitionBytes / BYTES_PER_TOKEN)
    const { title, maxTools, maxDefinitionTokens } = client
    const warnings: string[] = []
    if (maxTools !== undefined && tools.length > maxTools)
      warnings.push(
        `${title} uses at most ${maxTools} tools from all of its MCP servers together; this server lists ${tools.length} tools. ` +
          'Give this client a URL that offers fewer tools (add ?tools=search or ?tags=<tag>, or use the path /mcp/{toolset}), narrow spec.selector of the ToolSet, or use a token with fewer scopes.',
      )
    if (maxDefinitionTokens !== undefined && tokens > maxDefinitionTokens)
      warnings.push(
        `${title} does not pass all tool definitions to the model at once if the definitions have more than ${maxDefinitionTokens} tokens. Add ?tools=search or ?form=compact to the URL, narrow spec.selector of the ToolSet, or shorten the descriptions of the tools.`,
      )
    const bound = maxTools === undefined ? '' : ` (the client uses at most ${maxTools})`
    return {
      facts: [
        `Tools: ${tools.length}${bound}; the tool definitions have about ${tokens} tokens (estimated as bytes / ${BYTES_PER_TOKEN}).`,
      ],
      warnings,
    }
  },
}
