/** The third migration: what an owner has accepted of the tools of an API's MCP server, and what waits. */
export const statements: readonly string[] = [
  'alter table apis add column pending_definitions jsonb, add column accepted_spec_hash text',
]
