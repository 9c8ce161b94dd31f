/** Applies missing migrations in one transaction under a lock, forward only. It defines no migration. */
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

export function createMigrator(
  db: Kysely<Tables>,
  now: () => number,
  migrations: readonly Migration[] = MIGRATIONS,
): Migrator {
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
              appliedAt: new Date(now()),
            })
            .execute()
        }
        if (missing.length > 0) await sql.raw(GRANTS).execute(trx)
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

/** Grants the tables to the role that transactions switch to, where it exists. */
const GRANTS = `do $$ begin
  if exists (select from pg_roles where rolname = 'toolgate_app')
     and (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) then
    execute format('grant usage on schema %I to toolgate_app', current_schema());
    execute format('grant select, insert, update, delete on all tables in schema %I to toolgate_app', current_schema());
  end if;
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
        `the database has migration "${row.name}", which this build does not have: a newer version has used the database. Start that version, or restore an older backup.`,
      )
    }
    if (checksum(migration) !== row.checksum) {
      throw new Error(
        `migration "${row.name}" was applied with other statements than this build has. Use an unmodified build.`,
      )
    }
  })
}

function checksum(migration: Migration): string {
  return createHash('sha256').update(migration.statements.join(';\n')).digest('hex')
}
