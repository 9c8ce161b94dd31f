/** Migration 17: announced quotas and key expiry, failed deliveries of webhooks, and mails. */
import { guard, ID, OWNER } from './row-security.ts'

export const statements: readonly string[] = [
  // One row for each share of a quota that was announced, so that each is announced once in its window.
  `create table quota_notices (
  tenant_id ${OWNER},
  subscription_id ${ID} not null references subscriptions (id) on delete cascade,
  quota_window text not null,
  starts text not null,
  threshold integer not null,
  created_at timestamptz not null,
  primary key (subscription_id, quota_window, starts, threshold))`,
  `create index quota_notices_age on quota_notices (created_at)`,

  `alter table api_keys add column expiry_announced timestamptz`,
  `create index api_keys_due on api_keys (expires_at) where revoked_at is null and expires_at is not null`,

  // Since the last delivery that arrived.
  `alter table webhooks add column failed_deliveries integer not null default 0`,

  `create table mails (
  id ${ID} primary key,
  tenant_id ${OWNER},
  event text not null,
  recipient text not null,
  subject text not null,
  body text not null,
  status text not null,
  attempt integer not null,
  error text,
  next_attempt_at timestamptz,
  lease text,
  leased_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null)`,
  `create index mails_tenant on mails (tenant_id, created_at)`,
  `create index mails_due on mails (next_attempt_at) where status = 'pending'`,
  `create index mails_age on mails (created_at)`,
  ...guard('quota_notices'),
  ...guard('mails'),
]
