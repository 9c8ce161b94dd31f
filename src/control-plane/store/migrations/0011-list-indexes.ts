/** Migration 11: indexes for the filters and orders of lists. */
export const statements: readonly string[] = [
  `create index subscriptions_tenant_status on subscriptions (tenant_id, status, id)`,
  `create index subscriptions_api on subscriptions (api_id, id)`,
  `create index subscriptions_application on subscriptions (tenant_id, application, id)`,
  `create index subscriptions_updated on subscriptions (tenant_id, updated_at, id)`,
  `create index apis_name on apis (tenant_id, name, id) where deleted_at is null`,
  `create index apis_updated on apis (tenant_id, updated_at, id) where deleted_at is null`,
  `create index consumers_tenant on consumers (tenant_id, id)`,
]
