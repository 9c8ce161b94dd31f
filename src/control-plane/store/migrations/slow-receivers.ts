/** The fourth migration: which webhooks have a slow receiver. */

export const statements: readonly string[] = [
  `alter table webhooks add column slow boolean not null default false`,
]
