/** Migration 18: products, and subscriptions to them. */
import { guard, ID, OWNER } from './row-security.ts'

export const statements: readonly string[] = [
  `create table products (
  id ${ID} primary key,
  tenant_id ${OWNER},
  slug text not null,
  name text not null,
  description text not null,
  plan text not null,
  api_ids jsonb not null,
  portal_visibility boolean not null,
  deleted_at timestamptz,
  revision integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null)`,
  `create unique index products_slug_key on products (tenant_id, slug) where deleted_at is null`,
  `create index products_tenant on products (tenant_id, id) where deleted_at is null`,
  ...guard('products'),

  `alter table subscriptions alter column api_id drop not null`,
  `alter table subscriptions add column product_id ${ID} references products (id) on delete cascade`,
  `alter table subscriptions add constraint subscriptions_of_one check ((api_id is null) <> (product_id is null))`,
  `create unique index subscriptions_product_key on subscriptions (product_id, application)
  where status in ('pending_approval', 'approved', 'suspended') and product_id is not null`,
]
