/** Migration 13: rules of an API for its calls; null = none. */
export const statements: readonly string[] = ['alter table apis add column traffic jsonb']
