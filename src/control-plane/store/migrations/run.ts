/** Applies migrations, forward only, all of a run in one transaction and under a lock. It defines none. */
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Tables } from '../sql/tables.ts'
import { MIGRATIONS, type Migration } from './index.ts'

export interface MigrationStatus {
  readonly name: string
  /** undefined: still to be applied. */
  readonly appliedAt: Date | undefined
}

export interface Migrator {
  /**
   * Applies what is missing; instances that start together wait for one another.
   * @returns names of those applied now
   * @throws Error when the database is newer than this build, or an applied migration differs from this build's
   */
  migrate(): Promise<readonly string[]>
  status(): Promise<readonly MigrationStatus[]>
}

/** Any number, the same in every instance: the advisory lock of migrations. */
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

/** Tables of a new migration are granted to the role that transactions step down to, where it exists. */
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
        `the database has migration "${row.name}", which this build does not know: it was used by a newer version. Start that version, or restore an older backup.`,
      )
    }
    if (checksum(migration) !== row.checksum) {
      throw new Error(
        `migration "${row.name}" was applied in another form than this build has it. Use an unmodified build.`,
      )
    }
  })
}

function checksum(migration: Migration): string {
  return createHash('sha256').update(migration.statements.join(';\n')).digest('hex')
}
