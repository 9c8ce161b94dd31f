/** How many tools known clients use at once, of all their servers together (docs/reference/clients.md). Plain data. */
export const CLIENT_TOOL_LIMITS = Object.freeze({
  Cursor: 40,
  Windsurf: 100,
  'VS Code': 128,
  ChatGPT: 128,
  Codex: 128,
})
