/** `toolgate db`: commands for the schema and the rows of the control plane's database, and how commands open it. */
import type { Command } from 'commander'
import type { OpenedStore } from '../../control-plane/store/opened-store.ts'
import { Reader } from '../settings/reader.ts'
import { readSecretsKey } from '../settings/secrets-key.ts'
import { SettingsError } from '../settings.ts'
import { type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'
import type { KeyPlace } from './db-transfer.ts'

/** @param database as the help of a command names it */
export function addressHelp(database: string): string {
  return `The environment variable DATABASE_URL, or the file that DATABASE_URL_FILE names, contains the address of the ${database}. The default is pglite:, the embedded \
database in DATA_DIR (default: ./data). Other addresses are pglite:<dir>, an embedded database in <dir>, and postgres://user@host/name, a PostgreSQL database; \
PGPASSWORD may contain the password. Stop the control plane before you run the command on an embedded database.`
}

const ADDRESS = addressHelp('database')
const CREATES = 'An embedded database is created if it does not exist.'
export const NOT_OPENED = '78 a database that cannot be opened, or an invalid setting'
const TRANSFER_CODES = `0 done, 1 failed, ${NOT_OPENED}`
const EXAMPLES = (name: string): string[] => [
  `toolgate db ${name}`,
  `DATABASE_URL=postgres://toolgate@db.example.com/toolgate toolgate db ${name} --json`,
]

export function addDb(program: Command, context: CommandContext): void {
  const db = program
    .command('db')
    .summary('migrate, back up, restore or copy the database of the control plane, or list its migrations')
    .description(
      `Migrates, backs up, restores or copies the database of the control plane, or lists its migrations. ${ADDRESS}`,
    )
  db.command('migrate')
    .summary('apply the pending migrations')
    .description(
      `Applies the pending migrations, which change the schema of the database, under a lock, so that several processes can run the command at the same time. Migrations cannot be reverted. ${CREATES} ${ADDRESS}`,
    )
    .option('--json', 'print JSON')
    .addHelpText('after', footer(EXAMPLES('migrate'), `0 up to date, 1 a migration failed, ${NOT_OPENED}`))
    .action(async ({ json = false }) => {
      context.exitCode = await withStore(context.env, 'created', store => migrate(store, json))
    })
  db.command('status')
    .summary('list the applied and the pending migrations')
    .description(
      `Lists the applied migrations with the time at which each was applied, and the pending ones as missing. ${ADDRESS}`,
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      footer(EXAMPLES('status'), `0 up to date, 1 a pending migration or a failure, ${NOT_OPENED}`),
    )
    .action(async ({ json = false }) => {
      context.exitCode = await withStore(context.env, 'existing', store => status(store, json))
    })
  db.command('backup')
    .summary('write all rows into a backup file')
    .description(
      `Writes all rows of the database, as of one point in time, into a gzip file. The control plane may run during the backup of a PostgreSQL database. \
The file does not contain the key with which secrets are sealed: keep SECRETS_KEY, or the file DATA_DIR/secrets.key, as well. ${ADDRESS}`,
    )
    .requiredOption('--to <file>', 'file to write; an existing file is replaced (required)')
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
      `Fills an empty database from a file that \`toolgate db backup\` wrote, in one transaction. Then applies the migrations that are newer than the backup. ${CREATES} ${addressHelp('empty database')}`,
    )
    .requiredOption('--from <file>', 'backup file to restore (required)')
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
      `Copies all rows of the source database into the empty database in --to, in one transaction, and compares the number and contents of the rows. PGPASSWORD may also contain the password for --to. An embedded database in --to is created if it does not exist. ${addressHelp('source database')}`,
    )
    .requiredOption(
      '--to <address>',
      'address of the empty database: postgres://user@host/name or pglite:<dir> (required)',
    )
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
  const { openStore } = await import('../../control-plane/store/open-store.ts')
  const opened = await openStore({
    url,
    dataDir,
    mustExist: database === 'existing',
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
