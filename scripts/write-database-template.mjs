/**
 * Writes `dist/database-template.gz`, an empty embedded database: creating one takes seconds and 800 MB of memory, which the build can afford
 * and the first start cannot. `src/control-plane/store/pglite/create.ts` unpacks it. It is written again when PGlite has been installed again.
 */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { PGlite } from '@electric-sql/pglite'

const target = fileURLToPath(new URL('../dist/database-template.gz', import.meta.url))
const library = fileURLToPath(new URL('../node_modules/@electric-sql/pglite/package.json', import.meta.url))

if ((statSync(target, { throwIfNoEntry: false })?.mtimeMs ?? 0) < statSync(library).ctimeMs) {
  const work = mkdtempSync(join(tmpdir(), 'toolgate-template-'))
  const database = join(work, 'database')
  try {
    await (await PGlite.create({ dataDir: database })).close()
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
