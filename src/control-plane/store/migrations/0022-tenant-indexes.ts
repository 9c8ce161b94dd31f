/** Migration 22: indexes with which the removal of a tenant finds its rows in the tables that grow with time. */
export const statements: readonly string[] = [
  `create index usage_daily_tenant on usage_daily (tenant_id)`,
  `create index deliveries_tenant on deliveries (tenant_id)`,
  `create index quota_notices_tenant on quota_notices (tenant_id)`,
]
