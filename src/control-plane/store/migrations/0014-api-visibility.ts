/** Migration 14: to whom the catalog shows an API. */
export const statements: readonly string[] = [
  `alter table apis add column visibility text not null default 'tenant'`,
  // visitors list few of many APIs
  `create index apis_public on apis (id) where visibility = 'public' and portal_visibility and deleted_at is null`,
]
