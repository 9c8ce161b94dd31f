/** Migration 9: metadata, requested plan, suspension and announced expiry of subscriptions, and their indexes. */
export const statements: readonly string[] = [
  `alter table subscriptions add column metadata jsonb not null default '{}'`,
  `alter table subscriptions add column requested_plan text`,
  `alter table subscriptions add column suspended_at timestamptz`,
  // The expiry date that was announced; another date is announced again.
  `alter table subscriptions add column expiry_announced timestamptz`,
  `drop index subscriptions_application_key`,
  `create unique index subscriptions_application_key on subscriptions (api_id, application)
  where status in ('pending_approval', 'approved', 'suspended')`,
  `drop index subscriptions_due`,
  `create index subscriptions_due on subscriptions (expires_at)
  where status in ('approved', 'suspended') and expires_at is not null`,
  `create index subscriptions_inactive on subscriptions (tenant_id) where status in ('suspended', 'expired')`,
]
