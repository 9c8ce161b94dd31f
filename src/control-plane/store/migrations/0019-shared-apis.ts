/** Migration 19: APIs that are shared with other tenants, and the subscriptions of those. */
import { ID } from './row-security.ts'

const READER = `current_setting('toolgate.tenant', true)`

export const statements: readonly string[] = [
  `alter table apis add column sharing jsonb`,
  `create index apis_shared on apis using gin ((sharing -> 'with')) where deleted_at is null`,
  `create policy shared_rows on apis for select using (sharing -> 'with' ?| array['*', ${READER}])`,

  `alter table subscriptions add column subscriber_tenant_id ${ID} references tenants (id) on delete cascade`,
  `create index subscriptions_held on subscriptions (subscriber_tenant_id, id) where subscriber_tenant_id is not null`,
  `create policy held_rows on subscriptions for select using (subscriber_tenant_id = ${READER})`,
]
