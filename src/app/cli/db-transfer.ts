/** `toolgate db backup|restore|copy`: the backup file, and the summary that is printed. `transfer.ts` of the store reads and writes the rows. */
import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { VERSION } from '../../base/version.ts'
import type { Contents, TableRows, Transfer } from '../../control-plane/store/transfer.ts'
import { EXIT, print } from './command.ts'

const FORMAT = 1

/** Where the sealing key of this process is. */
export interface KeyPlace {
  readonly dataDir: string
  readonly secretsKey: string | undefined
}

/** Writes a gzip file of JSON lines; it has its name only when it is complete. */
export async function backUp(source: Transfer, path: string, key: KeyPlace, json: boolean): Promise<number> {
  const draft = `${path}.incomplete`
  const gzip = createGzip()
  const written = pipeline(gzip, createWriteStream(draft, { mode: 0o600, flush: true }))
  // reported below
  written.catch(() => {})
  const line = async (value: string): Promise<void> => {
    if (!gzip.write(`${value}\n`)) await Promise.race([once(gzip, 'drain'), written])
  }
  try {
    const migrations = await source.migrations()
    const created = new Date().toISOString()
    await line(JSON.stringify({ toolgate_backup: FORMAT, version: VERSION, created_at: created, migrations }))
    const contents = await source.read(async ({ table, rows }) => {
      // readers of lines end a line at these too; JSON has them in texts only
      for (const row of rows) await line(`["${table}",${row.replace(/[\u2028\u2029]/g, escapeCharacter)}]`)
    })
    await line(JSON.stringify({ tables: contents.tables, key_ids: contents.keyIds }))
    gzip.end()
    await written
    await rename(draft, path)
    return report(`wrote ${path}`, contents, key, json)
  } catch (error) {
    gzip.destroy()
    await written.catch(() => {})
    await rm(draft, { force: true })
    throw error
  }
}

/** Fills an empty database from a file. @throws Error when the file is incomplete or not a backup; then no row is written */
export async function restore(target: Transfer, path: string, key: KeyPlace, json: boolean): Promise<number> {
  const file = createReadStream(path)
  const gunzip = createGunzip()
  const unpacked = pipeline(file, gunzip)
  const reader = createInterface({ input: gunzip, crlfDelay: Number.POSITIVE_INFINITY })
  // an error of its input does not end the reader
  unpacked.catch(() => reader.close())
  const lines = reader[Symbol.asyncIterator]()
  const next = async (): Promise<string | undefined> => {
    const { value, done } = await lines.next()
    if (done !== true) return value
    await unpacked
    return undefined
  }
  try {
    const migrations = headerOf(await next())
    let contents: Contents | undefined
    await target.write(migrations, async put => {
      let part: { table: string; rows: string[] } | undefined
      const flush = async (): Promise<void> => {
        if (part !== undefined) await put(part satisfies TableRows)
        part = undefined
      }
      for (let line = await next(); line !== undefined; line = await next()) {
        const row = /^\["([a-z_]+)",(.*)\]$/s.exec(line)
        if (row === null) {
          await flush()
          contents = trailerOf(line, migrations)
          return contents
        }
        if (part !== undefined && (part.table !== row[1] || part.rows.length === 100)) await flush()
        part ??= { table: row[1]!, rows: [] }
        part.rows.push(row[2]!)
      }
      throw new Error('the backup file is incomplete: its last line is missing. Use a complete backup file.')
    })
    return report('restored and verified', contents!, key, json)
  } finally {
    file.destroy()
  }
}

/** Fills an empty database from another one. */
export async function copy(
  source: Transfer,
  target: Transfer,
  key: KeyPlace,
  json: boolean,
): Promise<number> {
  let contents: Contents | undefined
  await target.write(await source.migrations(), async put => {
    contents = await source.read(put)
    return contents
  })
  return report('copied and verified', contents!, key, json)
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16)}`
}

function headerOf(line: string | undefined): readonly string[] {
  const header = parse(line) as { toolgate_backup?: unknown; migrations?: unknown } | undefined
  if (header?.toolgate_backup !== FORMAT || !Array.isArray(header.migrations))
    throw new Error(
      'the file in --from is not a backup that this version of toolgate can read. Use a file that `toolgate db backup` wrote.',
    )
  return header.migrations as string[]
}

function trailerOf(line: string, migrations: readonly string[]): Contents {
  const trailer = parse(line) as { tables?: Contents['tables']; key_ids?: string[] } | undefined
  if (!Array.isArray(trailer?.tables))
    throw new Error('the backup file is damaged: one of its lines is not a row. Use another backup file.')
  return { migrations, tables: trailer.tables, keyIds: trailer.key_ids ?? [] }
}

function parse(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? '')
  } catch {
    return undefined
  }
}

async function report(
  what: string,
  { tables, keyIds }: Contents,
  key: KeyPlace,
  json: boolean,
): Promise<number> {
  const own = await keyIdOf(key)
  if (json) {
    print(`${JSON.stringify({ tables, sealing_keys: keyIds, own_sealing_key: own ?? null })}\n`)
    return EXIT.ok
  }
  for (const { table, rows } of tables) if (rows > 0) print(`${String(rows).padStart(9)}  ${table}\n`)
  print(`${what}: ${tables.reduce((sum, { rows }) => sum + rows, 0)} rows\n`)
  for (const id of keyIds) print(`${keyNote(id, id === own, key)}\n`)
  return EXIT.ok
}

function keyNote(id: string, isOwn: boolean, { dataDir, secretsKey }: KeyPlace): string {
  if (!isOwn)
    return `Secrets are sealed with the key ${id}, which is not the key of this process. Back up the key ${id}: without this key, the secrets cannot be read.`
  const where = secretsKey === undefined ? join(dataDir, 'secrets.key') : 'SECRETS_KEY'
  return `Secrets are sealed with the key ${id}, which is not stored in the database. Back up ${where}, and set SECRETS_KEY or SECRETS_KEY_FILE to this key for every control plane that uses the database.`
}

/** undefined without a key; none is created. */
async function keyIdOf({ dataDir, secretsKey }: KeyPlace): Promise<string | undefined> {
  const { createSealer } = await import('../../base/secrets/sealer.ts')
  if (secretsKey !== undefined) return createSealer(secretsKey).keyId
  const path = join(dataDir, 'secrets.key')
  if (!existsSync(path)) return undefined
  const { keptKey } = await import('../../base/secrets/key-file.ts')
  return createSealer(keptKey(path).key).keyId
}
