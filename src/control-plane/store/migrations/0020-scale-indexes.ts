/** Migration 20: further indexes for the filters and orders of lists. */
export const statements: readonly string[] = [
  `create index subscriptions_status on subscriptions (status, id)`,
  `create index subscriptions_of_application on subscriptions (application, id)`,
  `create index subscriptions_changed on subscriptions (updated_at, id)`,
  `create index subscriptions_plan on subscriptions (tenant_id, plan, id)`,
  `create index subscriptions_product on subscriptions (product_id, id) where product_id is not null`,
  `create index consumers_name on consumers (tenant_id, name, id)`,
  `create index consumers_updated on consumers (tenant_id, updated_at, id)`,
  `create index api_keys_name on api_keys (tenant_id, name, id)`,
  `create index api_keys_updated on api_keys (tenant_id, updated_at, id)`,
]
