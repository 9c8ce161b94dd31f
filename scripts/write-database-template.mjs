/**
 * Writes `dist/database-template.gz`, an embedded database with all migrations and nothing else: creating one takes seconds and 800 MB of memory,
 * which the build can afford and the first start cannot. `src/control-plane/store/pglite/create.ts` unpacks it, file by file; the databases that only
 * `create database` needs are dropped, more than half of the files. It is written again when PGlite or a migration has changed. The build is compiled first.
 */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'

const target = fileURLToPath(new URL('../dist/database-template.gz', import.meta.url))
const store = new URL('../dist/control-plane/store/', import.meta.url)
const library = fileURLToPath(new URL('../node_modules/@electric-sql/pglite/package.json', import.meta.url))
const migrations = fileURLToPath(new URL('migrations/', store))
const script = fileURLToPath(import.meta.url)
const sources = [script, library, ...readdirSync(migrations).map(name => join(migrations, name))]

const writtenMs = statSync(target, { throwIfNoEntry: false })?.mtimeMs ?? 0
if (sources.some(path => writtenMs < statSync(path).ctimeMs)) {
  const work = mkdtempSync(join(tmpdir(), 'toolgate-template-'))
  const database = join(work, 'database')
  try {
    // a database from the template of before would lack what PGlite has changed
    rmSync(target, { force: true })
    await create(database)
    const entries = readdirSync(database, { recursive: true, withFileTypes: true }).map(entry => ({
      path: relative(database, join(entry.parentPath, entry.name)),
      isDirectory: entry.isDirectory(),
    }))
    const directories = entries
      .filter(entry => entry.isDirectory)
      .map(entry => entry.path)
      .sort()
    const files = entries.filter(entry => !entry.isDirectory).map(entry => entry.path)
    const contents = files.map(path => readFileSync(join(database, path)))
    const header = { directories, files: files.map((path, at) => [path, contents[at].length]) }
    const draft = `${target}.${process.pid}`
    writeFileSync(draft, gzipSync(Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...contents])))
    renameSync(draft, target)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

async function create(directory) {
  const { openMigratedStore } = await import(new URL('open-store.js', store))
  const onFault = (message, error) => process.stderr.write(`${message}: ${error}\n`)
  const url = `pglite:${directory}`
  const migrated = await openMigratedStore({ url, dataDir: directory, now: Date.now, onFault })
  await migrated.close()
  const client = await PGlite.create({ dataDir: directory })
  for (const statement of [
    'update pg_database set datistemplate = false where datname <> current_database()',
    'drop database template0',
    'drop database template1',
    'checkpoint',
  ])
    await client.exec(statement)
  await client.close()
}
