/** `toolgate db migrate|status`: brings the schema up to date or tells what is missing. It serves nothing. */

import { openStore } from '../../control-plane/store/open.ts'
import type { OpenedStore } from '../../control-plane/store/opened-store.ts'
import { Reader } from '../settings/reader.ts'

const USAGE = `Usage: toolgate db migrate|status [--json]

  migrate   applies what is missing, forward only, under the database's lock
  status    lists the migrations; exit code 1 when one is missing

Reads DATABASE_URL or DATABASE_URL_FILE (pglite: in DATA_DIR, pglite:<dir>, postgres://…) and DATA_DIR.`

/** Exit code: 0, 1 (found something wrong), 64 (usage), 78 (configuration). */
export async function db(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  const json = args.includes('--json')
  const [command, ...rest] = args.filter(arg => arg !== '--json')
  if (args.includes('--help')) {
    console.log(USAGE)
    return 0
  }
  if ((command !== 'migrate' && command !== 'status') || rest.length > 0) {
    console.error(USAGE)
    return 64
  }
  // Only these two: a migration job has no need of the settings of a server.
  const read = new Reader(env)
  const [url, dataDir] = [read.text('DATABASE_URL', 'pglite:'), read.text('DATA_DIR', './data')]
  for (const { name, reason, fix } of read.faults) console.error(`${name} ${reason} ${fix}`)
  if (read.faults.length > 0) return 78
  let opened: OpenedStore
  try {
    opened = await openStore({
      url,
      dataDir,
      now: Date.now,
      onFault: (message, error) => console.error(message, error),
    })
  } catch (error) {
    console.error(messageOf(error))
    return 78
  }
  try {
    return command === 'migrate' ? await migrate(opened, json) : await status(opened, json)
  } catch (error) {
    console.error(messageOf(error))
    return 1
  } finally {
    await opened.store.close()
  }
}

async function migrate({ migrator }: OpenedStore, json: boolean): Promise<number> {
  const applied = await migrator.migrate()
  if (json) console.log(JSON.stringify({ applied }))
  else if (applied.length === 0) console.log('The schema is up to date.')
  else for (const name of applied) console.log(`applied ${name}`)
  return 0
}

async function status({ migrator }: OpenedStore, json: boolean): Promise<number> {
  const migrations = await migrator.status()
  if (json) {
    console.log(
      JSON.stringify({
        migrations: migrations.map(({ name, appliedAt }) => ({ name, applied_at: appliedAt ?? null })),
      }),
    )
  } else {
    for (const { name, appliedAt } of migrations)
      console.log(`${appliedAt?.toISOString() ?? 'missing'}  ${name}`)
  }
  return migrations.every(migration => migration.appliedAt !== undefined) ? 0 : 1
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
