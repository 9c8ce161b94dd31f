/** Migration 10: audit records in one chain of hashes. Rows survive the tenants they are about, so they have no foreign key. */
import { guard, ID } from './row-security.ts'

export const statements: readonly string[] = [
  `create table audit (
  seq bigint primary key,
  id ${ID} not null unique,
  at timestamptz not null,
  tenant_id ${ID},
  actor_kind text not null,
  actor_subject text not null,
  actor_consumer text not null,
  actor_tenant text,
  action text not null,
  request_id text not null,
  gateway text,
  resource_type text not null,
  resource_id text not null,
  before text,
  after text,
  hash text not null)`,
  `create index audit_tenant on audit (tenant_id, seq)`,
  `create index audit_resource on audit (resource_id, seq)`,
  `create index audit_age on audit (at)`,
  ...guard('audit'),
  // Rows are added, and removed at the end of their retention by a transaction that sees every tenant; none is changed.
  `create policy no_change on audit as restrictive for update using (false)`,
  `create policy platform_deletes on audit as restrictive for delete using (current_setting('toolgate.tenant', true) = '*')`,
  // The end of the chain, and the record before its first one that is kept.
  `create table audit_chain (
  id integer primary key check (id = 1),
  seq bigint not null,
  hash text not null,
  anchor_seq bigint not null,
  anchor_hash text not null)`,
  `insert into audit_chain (id, seq, hash, anchor_seq, anchor_hash) values (1, 0, '', 0, '')`,
]
