/** Reads the contents of a database as JSON texts, writes them into an empty database, and compares the two. */
import { type Kysely, sql, type Transaction as Trx } from 'kysely'
import { MIGRATIONS } from './migrations/index.ts'
import { createMigrator } from './migrations/run.ts'
import type { Tables } from './sql/tables.ts'

/** A table comes after those that it refers to. A test compares the list with the schema. */
const TRANSFERRED_TABLES = [
  'tenants',
  'plans',
  'apis',
  'products',
  'subscriptions',
  'api_keys',
  'consumers',
  'gateways',
  'removed_gateways',
  'deployments',
  'events',
  'change_clock',
  'idempotency',
  'usage_daily',
  'quota_notices',
  'tier_usage',
  'webhooks',
  'configuration',
  'deliveries',
  'mails',
  'metering_hours',
  'metering_latencies',
  'metering_marks',
  'audit',
  'audit_chain',
  'session_marks',
] as const

/** Migrations put rows into these. */
const SEEDED: readonly string[] = ['plans', 'change_clock', 'audit_chain']
const BATCH_ROWS = 100

export interface TableRows {
  readonly table: string
  /** Each a JSON object. */
  readonly rows: readonly string[]
}

interface TableSummary {
  readonly table: string
  readonly rows: number
  /** MD5 over the texts of all rows; equal for equal content in every database. */
  readonly digest: string
}

export interface Contents {
  /** Names of the applied migrations: the form of the rows. */
  readonly migrations: readonly string[]
  readonly tables: readonly TableSummary[]
  /** Ids of the keys under which secrets and headers of webhooks and bodies of deliveries are sealed; the keys themselves are not in the database. */
  readonly keyIds: readonly string[]
}

export interface Transfer {
  /** Names of the applied migrations. */
  migrations(): Promise<readonly string[]>
  /** Passes on every row, in an order in which they can be written. @throws Error of `take` */
  read(take: (part: TableRows) => Promise<void>): Promise<Contents>
  /**
   * Fills an empty database: applies the given migrations, takes what `fill` puts, compares it with what `fill` returns, and
   * applies the later migrations. When a step before that fails, none of the rows is written.
   * @throws Error when the database has rows, a newer schema, or other rows than expected
   */
  write(
    migrations: readonly string[],
    fill: (put: (part: TableRows) => Promise<void>) => Promise<Contents>,
  ): Promise<void>
}

export function createTransfer(db: Kysely<Tables>): Transfer {
  async function migrations(): Promise<readonly string[]> {
    const status = await createMigrator(db).status()
    return status.flatMap(({ name, appliedAt }) => (appliedAt === undefined ? [] : [name]))
  }
  return {
    migrations,

    async read(take) {
      const applied = await migrations()
      if (applied.length === 0)
        throw new Error(
          'the database in DATABASE_URL has no toolgate tables. Set DATABASE_URL to the database that the control plane uses.',
        )
      return db
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(async trx => {
          await enterAll(trx)
          const tables = await existing(trx)
          for (const table of tables) await readTable(trx, table, take)
          return {
            migrations: applied,
            tables: await summarize(trx, tables),
            keyIds: await sealingKeys(trx, tables),
          }
        })
    },

    async write(form, fill) {
      const known = MIGRATIONS.slice(0, form.length)
      if (known.length < form.length || known.some(({ name }, i) => name !== form[i]))
        throw new Error(
          'the backup or source database is from a newer version of toolgate. Use that version or a later one.',
        )
      if ((await migrations()).length > form.length)
        throw new Error(
          'the target database has a newer schema than the backup or source database. Use an empty target database.',
        )
      await createMigrator(db, known).migrate()
      await db.transaction().execute(async trx => {
        await enterAll(trx)
        const tables = await existing(trx)
        await clearSeeded(trx, tables)
        const expected = await fill(part => writeRows(trx, part))
        compare(expected.tables, await summarize(trx, tables))
      })
      await createMigrator(db).migrate()
    },
  }
}

/** The transaction sees the rows of every tenant, and its texts do not depend on settings of the server. */
async function enterAll(trx: Trx<Tables>): Promise<void> {
  await sql`select set_config('toolgate.tenant', '*', true), set_config('timezone', 'UTC', true),
    set_config('datestyle', 'ISO', true), set_config('extra_float_digits', '1', true)`.execute(trx)
}

async function existing(trx: Trx<Tables>): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = current_schema()`.execute(trx)
  const names = new Set(rows.map(row => row.name))
  return TRANSFERRED_TABLES.filter(table => names.has(table))
}

async function readTable(
  trx: Trx<Tables>,
  table: string,
  take: (part: TableRows) => Promise<void>,
): Promise<void> {
  const from = sql.table(table)
  await sql`declare transferred no scroll cursor for select row_to_json(row)::text as text from ${from} as row`.execute(
    trx,
  )
  for (;;) {
    const { rows } = await sql<{ text: string }>`fetch ${sql.lit(BATCH_ROWS)} from transferred`.execute(trx)
    if (rows.length === 0) break
    await take({ table, rows: rows.map(row => row.text) })
  }
  await sql`close transferred`.execute(trx)
}

async function writeRows(trx: Trx<Tables>, { table, rows }: TableRows): Promise<void> {
  if (!(TRANSFERRED_TABLES as readonly string[]).includes(table))
    throw new Error(`this version of toolgate has no table "${table}", so the rows for it cannot be restored`)
  const into = sql.table(table)
  const records = `[${rows.join(',')}]`
  await sql`insert into ${into} select * from json_populate_recordset(null::${into}, ${records}::json)`.execute(
    trx,
  )
}

/** @throws Error when another table has rows */
async function clearSeeded(trx: Trx<Tables>, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const name = sql.table(table)
    if (SEEDED.includes(table)) await sql`delete from ${name}`.execute(trx)
    const { rows } = await sql`select 1 from ${name} limit 1`.execute(trx)
    if (rows.length > 0)
      throw new Error(`the target database is not empty: table "${table}" has rows. Use a new database.`)
  }
}

/** For JSON texts, in which a JSON null of a `jsonb` column equals no value, as it does for every reader. */
async function summarize(trx: Trx<Tables>, tables: readonly string[]): Promise<TableSummary[]> {
  const summaries: TableSummary[] = []
  for (const table of tables) {
    const { rows } = await sql<{ rows: number | string; digest: string | null }>`
      select count(*) as rows, md5(string_agg(hash, '' order by hash collate "C")) as digest
      from (select md5(row_to_json(row)::text) as hash from ${sql.table(table)} as row) as hashes`.execute(
      trx,
    )
    const { rows: count, digest } = rows[0]!
    summaries.push({ table, rows: Number(count), digest: digest ?? '' })
  }
  return summaries
}

async function sealingKeys(trx: Trx<Tables>, tables: readonly string[]): Promise<string[]> {
  if (!tables.includes('webhooks')) return []
  const { rows } = await sql<{ key: string }>`
    select key_id as key from webhooks where key_id is not null and secret is not null
    union select key_id from deliveries where key_id is not null
    union select headers_key_id from webhooks where headers_key_id is not null`.execute(trx)
  return rows.map(row => row.key).sort()
}

function compare(expected: readonly TableSummary[], actual: readonly TableSummary[]): void {
  for (const { table, rows, digest } of expected) {
    const written = actual.find(summary => summary.table === table)
    if (written?.rows !== rows)
      throw new Error(
        `after the transfer, table "${table}" of the target database has ${written?.rows ?? 0} rows instead of ${rows}`,
      )
    if (written.digest !== digest)
      throw new Error(
        `after the transfer, table "${table}" of the target database differs from the backup or source database`,
      )
  }
}
