/** Applies missing migrations, lists migrations with their state, and sets up the role that transactions switch to. */
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../sql/tables.ts'
import { MIGRATIONS, type Migration } from './index.ts'

export interface MigrationStatus {
  readonly name: string
  /** undefined = not applied. */
  readonly appliedAt: Date | undefined
}

export interface Migrator {
  /**
   * Applies missing migrations; instances that start at the same time wait for each other.
   * @returns names of the migrations applied by this call
   * @throws Error when the database is newer than this build, or an applied migration differs from this build
   */
  migrate(): Promise<readonly string[]>
  status(): Promise<readonly MigrationStatus[]>
}

/** Advisory lock of migrations: an arbitrary number, the same in every instance. */
const LOCK = 7_270_736_901

export function createMigrator(db: Kysely<Tables>, migrations: readonly Migration[] = MIGRATIONS): Migrator {
  return {
    async migrate() {
      return db.transaction().execute(async trx => {
        await sql`select pg_advisory_xact_lock(${LOCK}::bigint)`.execute(trx)
        await sql`create table if not exists schema_migrations
          (name text primary key, checksum text not null, applied_at timestamptz not null)`.execute(trx)
        const applied = await appliedMigrations(trx)
        check(applied, migrations)
        const missing = migrations.slice(applied.length)
        for (const migration of missing) {
          for (const statement of migration.statements) await sql.raw(statement).execute(trx)
          await trx
            .insertInto('schemaMigrations')
            .values({
              name: migration.name,
              checksum: checksum(migration),
              appliedAt: sql<Date>`statement_timestamp()`,
            })
            .execute()
        }
        await sql.raw(APP_ROLE).execute(trx)
        await sql.raw(missing.length > 0 ? GRANTS : MISSING_GRANTS).execute(trx)
        return missing.map(migration => migration.name)
      })
    },

    async status() {
      const exists = await sql<{
        found: boolean
      }>`select to_regclass('schema_migrations') is not null as found`.execute(db)
      const applied = exists.rows[0]!.found ? await appliedMigrations(db) : []
      check(applied, migrations)
      return migrations.map((migration, index) => ({
        name: migration.name,
        appliedAt: applied[index]?.appliedAt,
      }))
    },
  }
}

/**
 * Makes the role that transactions of a user without row-level security switch to, and its member. Migration 2 makes it only when such a
 * user applies that migration. What the user may not do is left to an administrator: the store says what is missing.
 */
const APP_ROLE = `do $$ begin
  if not (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) then return; end if;
  begin
    if not exists (select from pg_roles where rolname = 'toolgate_app') then create role toolgate_app nologin; end if;
  exception when duplicate_object or unique_violation or insufficient_privilege then null;
  end;
  begin
    if exists (select from pg_roles where rolname = 'toolgate_app')
       and not (select rolsuper from pg_roles where rolname = current_user) then
      execute format('grant toolgate_app to %I', current_user);
    end if;
  exception when insufficient_privilege then null;
  end;
end $$`

/** Grants the tables to that role, where it exists. */
const GRANTS = `do $$ begin
  if exists (select from pg_roles where rolname = 'toolgate_app')
     and (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) then
    execute format('grant usage on schema %I to toolgate_app', current_schema());
    execute format('grant select, insert, update, delete on all tables in schema %I to toolgate_app', current_schema());
  end if;
end $$`

/** The same where no migration was missing: a user who did not make the tables may be unable to grant them. */
const MISSING_GRANTS = `do $$ begin
  if exists (select from pg_roles where rolname = 'toolgate_app')
     and (select rolsuper or rolbypassrls from pg_roles where rolname = current_user)
     and exists (select from pg_tables, unnest(array['select', 'insert', 'update', 'delete']) as privilege
       where schemaname = current_schema()
         and not has_table_privilege('toolgate_app', format('%I.%I', schemaname, tablename), privilege)) then
    execute format('grant usage on schema %I to toolgate_app', current_schema());
    execute format('grant select, insert, update, delete on all tables in schema %I to toolgate_app', current_schema());
  end if;
exception when insufficient_privilege then null;
end $$`

function appliedMigrations(db: Kysely<Tables>) {
  return db.selectFrom('schemaMigrations').selectAll().orderBy('name').execute()
}

function check(
  applied: readonly { readonly name: string; readonly checksum: string }[],
  migrations: readonly Migration[],
): void {
  applied.forEach((row, index) => {
    const migration = migrations[index]
    if (migration?.name !== row.name) {
      throw new Error(
        `the database has migration "${row.name}", which this build does not have: a newer version of toolgate has used the database. Start the newer version, or restore an older backup.`,
      )
    }
    if (checksum(migration) !== row.checksum) {
      throw new Error(
        `the SQL statements of migration "${row.name}" in this build differ from the statements that were applied to the database. Use an unmodified build.`,
      )
    }
  })
}

function checksum(migration: Migration): string {
  return createHash('sha256').update(migration.statements.join(';\n')).digest('hex')
}
