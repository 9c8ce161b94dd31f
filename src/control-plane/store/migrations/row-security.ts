/** SQL fragments for migrations: column types and row-level security. Do not change their text: released migrations contain it. */

/** Identifiers compare as bytes, so that they sort by creation under every locale. */
export const ID = 'text collate "C"'
export const OWNER = `${ID} not null references tenants (id) on delete cascade`
/** The row belongs to the tenant of the transaction, or the transaction may see every tenant. */
export const MINE = `(tenant_id = current_setting('toolgate.tenant', true) or current_setting('toolgate.tenant', true) = '*')`

/** Enables row-level security on a table, for its owner too. Both conditions carry their parentheses. */
export function guard(table: string, using: string = MINE, check: string = using): readonly string[] {
  return [
    `alter table ${table} enable row level security`,
    `alter table ${table} force row level security`,
    `create policy own_rows on ${table} using ${using} with check ${check}`,
  ]
}
