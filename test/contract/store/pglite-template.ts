/** PGlite directories for tests, each created once and copied: creating one takes seconds of processor time, as do its migrations; copying takes a moment. */
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { MIGRATIONS } from '../../../src/control-plane/store/migrations/index.ts'
import { openMigratedStore } from '../../../src/control-plane/store/open-store.ts'
import { create, exists } from '../../../src/control-plane/store/pglite/create.ts'

const library = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'))
const { version } = JSON.parse(readFileSync(join(library, '../package.json'), 'utf8')) as { version: string }
const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/toolgate')
/** Other migrations get another template. */
const migrations = createHash('sha256').update(JSON.stringify(MIGRATIONS)).digest('hex').slice(0, 12)

/** Makes `directory` an unused database with all migrations. Test files may call it concurrently. */
export async function copyTemplate(directory: string): Promise<void> {
  const template = await cached(`pglite-${version}-${migrations}`, async draft => {
    await copyEmptyTemplate(draft)
    const onFault = (message: string, error: unknown) => console.error(message, error)
    const store = await openMigratedStore({
      url: `pglite:${draft}`,
      dataDir: draft,
      now: () => Date.now(),
      onFault,
    })
    await store.close()
    rmSync(`${draft}.lock`, { force: true })
    await dropSystemTemplates(draft)
  })
  copy(template, directory)
}

/** Makes `directory` an unused database without any table. Test files may call it concurrently. */
export async function copyEmptyTemplate(directory: string): Promise<void> {
  copy(await cached(`pglite-${version}`, create), directory)
}

const templates = new Map<string, Promise<string>>()

function cached(name: string, make: (draft: string) => Promise<void>): Promise<string> {
  const template = templates.get(name) ?? created(name, make)
  templates.set(name, template)
  return template
}

async function created(name: string, make: (draft: string) => Promise<void>): Promise<string> {
  const template = join(CACHE, name)
  if (exists(template)) return template
  const draft = join(CACHE, `draft-${process.pid}-${name}`, name)
  mkdirSync(dirname(draft), { recursive: true })
  await make(draft)
  try {
    renameSync(draft, template)
  } catch (error) {
    // another test file was faster; its template is as good
    if (!exists(template)) throw error
  }
  rmSync(dirname(draft), { recursive: true, force: true })
  return template
}

/** The build drops them too (`scripts/write-database-template.mjs`): they are more than half of the files, and only `create database` needs them. */
async function dropSystemTemplates(directory: string): Promise<void> {
  const { PGlite } = await import('@electric-sql/pglite')
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

function copy(template: string, directory: string): void {
  mkdirSync(dirname(directory), { recursive: true })
  cpSync(template, directory, { recursive: true })
}
