/** `toolgate db migrate|status`: applies the missing migrations, or lists them. It serves nothing. */
import type { Command } from 'commander'
import type { OpenedStore } from '../../control-plane/store/opened-store.ts'
import { Reader } from '../settings/reader.ts'
import { SettingsError } from '../settings.ts'
import { type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'

const SETTINGS = `Reads DATABASE_URL or DATABASE_URL_FILE (pglite: in DATA_DIR, pglite:<dir> or postgres://…) and DATA_DIR.`
const EXAMPLES = (name: string): string[] => [
  `toolgate db ${name}`,
  `DATABASE_URL=postgres://toolgate@db.example.com/toolgate toolgate db ${name} --json`,
]

export function addDb(program: Command, context: CommandContext): void {
  const db = program
    .command('db')
    .summary('migrate the database of the control plane, or show its state')
    .description(`Migrates the database of the control plane, or shows its state. ${SETTINGS}`)
  db.command('migrate')
    .summary('apply the missing migrations')
    .description(`Applies the missing migrations, forward only, under a lock of the database. ${SETTINGS}`)
    .option('--json', 'print JSON')
    .addHelpText('after', footer(EXAMPLES('migrate'), '0 up to date, 1 a migration failed, 78 no database'))
    .action(async ({ json = false }) => {
      context.exitCode = await withStore(context.env, store => migrate(store, json))
    })
  db.command('status')
    .summary('list the migrations')
    .description(`Lists the migrations with the time of each. ${SETTINGS}`)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      footer(EXAMPLES('status'), '0 up to date, 1 a migration is missing, 78 no database'),
    )
    .action(async ({ json = false }) => {
      context.exitCode = await withStore(context.env, store => status(store, json))
    })
}

async function withStore(
  env: CommandContext['env'],
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
    now: Date.now,
    onFault: (message, error) => console.error(message, error),
  }).catch(error => {
    throw new CommandFailure(messageOf(error), EXIT.config)
  })
  try {
    return await use(opened)
  } catch (error) {
    throw new CommandFailure(messageOf(error))
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
