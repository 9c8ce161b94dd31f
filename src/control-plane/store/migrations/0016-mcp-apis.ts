/** Migration 16: APIs whose upstream is an MCP server. */
export const statements: readonly string[] = [
  `alter table apis add column type text not null default 'http'`,
  'alter table apis add column mcp jsonb',
]
