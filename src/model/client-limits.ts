/** Limits of known clients on the number of tools (docs/reference/clients.md). Plain data. */
export const CLIENT_TOOL_LIMITS = Object.freeze({
  Cursor: 40,
  Windsurf: 100,
  'VS Code': 128,
  ChatGPT: 128,
  Codex: 128,
})
