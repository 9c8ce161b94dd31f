/** Migration 13: rules of an API for proxied calls; null = none. */
export const statements: readonly string[] = ['alter table apis add column traffic jsonb']
