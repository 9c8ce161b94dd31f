/** Migration 7: what an API passes beyond the defaults; null = nothing. */
export const statements: readonly string[] = ['alter table apis add column passthrough jsonb']
