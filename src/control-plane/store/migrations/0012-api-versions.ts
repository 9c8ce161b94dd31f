/** Migration 12: several versions of an API under one path, and the deprecation of APIs. */
export const statements: readonly string[] = [
  `alter table apis add column versioning jsonb`,
  `alter table apis add column deprecation jsonb`,
  `alter table apis add column deprecated_at timestamptz`,
  `select set_config('toolgate.tenant', '*', true)`,
  `update apis set deprecated_at = updated_at where status = 'deprecated'`,
  `drop index apis_path_key`,
  `create unique index apis_path_key on apis
  (tenant_id, path, (case when versioning ->> 'by' is null then '' else version end))
  where deleted_at is null`,
]
