/** Migration 7: the passthrough rules of an API; null = none. */
export const statements: readonly string[] = ['alter table apis add column passthrough jsonb']
