/** `toolgate db migrate|status|backup|restore|copy`: the schema and the rows of the control plane's database. It serves nothing. */
import type { Command } from 'commander'
import type { OpenedStore } from '../../control-plane/store/opened-store.ts'
import { Reader } from '../settings/reader.ts'
import { readSecretsKey } from '../settings/secrets-key.ts'
import { SettingsError } from '../settings.ts'
import { type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'
import type { KeyPlace } from './db-transfer.ts'

const SETTINGS = `Reads the address of the database from DATABASE_URL, or from the file that DATABASE_URL_FILE names: postgres://…, pglite:<dir>, or \`pglite:\` for the embedded database in DATA_DIR. The default is \`pglite:\`.`
const EXAMPLES = (name: string): string[] => [
  `toolgate db ${name}`,
  `DATABASE_URL=postgres://toolgate@db.example.com/toolgate toolgate db ${name} --json`,
]

export function addDb(program: Command, context: CommandContext): void {
  const db = program
    .command('db')
    .summary('migrate, back up, restore or copy the database of the control plane')
    .description(`Migrates, backs up, restores and copies the database of the control plane. ${SETTINGS}`)
  db.command('migrate')
    .summary('apply the pending migrations')
    .description(
      `Applies the pending migrations under a lock in the database. Migrations cannot be reverted. ${SETTINGS}`,
    )
    .option('--json', 'print JSON')
    .addHelpText('after', footer(EXAMPLES('migrate'), '0 up to date, 1 a migration failed, 78 no database'))
    .action(async ({ json = false }) => {
      context.exitCode = await withStore(context.env, 'created', store => migrate(store, json))
    })
  db.command('status')
    .summary('list the migrations')
    .description(`Lists the migrations with the time at which each was applied. ${SETTINGS}`)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      footer(EXAMPLES('status'), '0 up to date, 1 a migration is pending, 78 no database'),
    )
    .action(async ({ json = false }) => {
      context.exitCode = await withStore(context.env, 'existing', store => status(store, json))
    })
  db.command('backup')
    .summary('write all rows into a backup file')
    .description(
      `Writes all rows of the database, as of one point in time, into a gzip file. With PostgreSQL, the control plane may run during the backup; with the embedded database, stop the control plane first. The file does \
not contain the key with which secrets are sealed. ${SETTINGS}`,
    )
    .requiredOption('--to <file>', 'file to write; an existing file is replaced')
    .option('--json', 'print JSON')
    .addHelpText('after', footer(['toolgate db backup --to toolgate.ndjson.gz'], TRANSFER_CODES))
    .action(async ({ to, json = false }) => {
      const { backUp } = await import('./db-transfer.ts')
      const key = keyPlace(context.env)
      context.exitCode = await withStore(context.env, 'existing', ({ transfer }) =>
        backUp(transfer, to, key, json),
      )
    })
  db.command('restore')
    .summary('restore a backup file into an empty database')
    .description(
      `Fills an empty database from a file that \`toolgate db backup\` wrote, in one transaction. Then applies the migrations that are newer than the backup. ${SETTINGS}`,
    )
    .requiredOption('--from <file>', 'backup file to restore')
    .option('--json', 'print JSON')
    .addHelpText('after', footer(['toolgate db restore --from toolgate.ndjson.gz'], TRANSFER_CODES))
    .action(async ({ from, json = false }) => {
      const { restore } = await import('./db-transfer.ts')
      const key = keyPlace(context.env)
      context.exitCode = await withStore(context.env, 'created', ({ transfer }) =>
        restore(transfer, from, key, json),
      )
    })
  db.command('copy')
    .summary('copy the database into an empty database')
    .description(
      `Copies all rows into the empty database that --to names, in one transaction, and compares the number and contents of the rows. You can set the password for the empty database in PGPASSWORD. ${SETTINGS}`,
    )
    .requiredOption('--to <address>', 'address of the empty database: postgres://… or pglite:<dir>')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      footer(['toolgate db copy --to postgres://toolgate@db.example.com/toolgate'], TRANSFER_CODES),
    )
    .action(async ({ to, json = false }) => {
      const { copy } = await import('./db-transfer.ts')
      const key = keyPlace(context.env)
      const targetEnv = { ...context.env, DATABASE_URL: to, DATABASE_URL_FILE: undefined }
      context.exitCode = await withStore(context.env, 'existing', source =>
        withStore(targetEnv, 'created', target => copy(source.transfer, target.transfer, key, json)),
      )
    })
}

const TRANSFER_CODES = '0 done, 1 failed, 78 no database'

function keyPlace(env: CommandContext['env']): KeyPlace {
  const read = new Reader(env)
  const place = { dataDir: read.text('DATA_DIR', './data'), secretsKey: readSecretsKey(read) }
  if (read.faults.length > 0) throw new SettingsError(read.faults)
  return place
}

/**
 * @param env of it DATABASE_URL and DATA_DIR
 * @param database `existing` for commands that read: an empty one would be verified, or replace a good backup
 */
export async function withStore(
  env: CommandContext['env'],
  database: 'existing' | 'created',
  use: (opened: OpenedStore) => Promise<number>,
): Promise<number> {
  // only these two settings: a migration job has no reason to set those of a server
  const read = new Reader(env)
  const [url, dataDir] = [read.text('DATABASE_URL', 'pglite:'), read.text('DATA_DIR', './data')]
  if (read.faults.length > 0) throw new SettingsError(read.faults)
  const { openStore } = await import('../../control-plane/store/open.ts')
  const opened = await openStore({
    url,
    dataDir,
    mustExist: database === 'existing',
    now: Date.now,
    queryTimeoutMs: 0,
    onFault: (message, error) => console.error(message, error),
  }).catch(error => {
    throw new CommandFailure(messageOf(error), EXIT.config)
  })
  try {
    return await use(opened)
  } catch (error) {
    throw error instanceof CommandFailure ? error : new CommandFailure(messageOf(error))
  } finally {
    await opened.store.close()
  }
}

async function migrate({ migrator }: OpenedStore, json: boolean): Promise<number> {
  const applied = await migrator.migrate()
  const lines = applied.length === 0 ? ['The schema is up to date.'] : applied.map(name => `applied ${name}`)
  print(`${json ? JSON.stringify({ applied }) : lines.join('\n')}\n`)
  return EXIT.ok
}

async function status({ migrator }: OpenedStore, json: boolean): Promise<number> {
  const migrations = await migrator.status()
  const rows = migrations.map(({ name, appliedAt }) => ({ name, applied_at: appliedAt ?? null }))
  if (json) print(`${JSON.stringify({ migrations: rows })}\n`)
  else
    for (const { name, appliedAt } of migrations) print(`${appliedAt?.toISOString() ?? 'missing'}  ${name}\n`)
  return migrations.every(migration => migration.appliedAt !== undefined) ? EXIT.ok : EXIT.failed
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
