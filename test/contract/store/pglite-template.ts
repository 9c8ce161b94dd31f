/** An empty PGlite directory for tests, created once and copied: creating one takes seconds, copying a moment. */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { create, exists } from '../../../src/control-plane/store/pglite/create.ts'

const library = dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite'))
const { version } = JSON.parse(readFileSync(join(library, '../package.json'), 'utf8')) as { version: string }
const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/toolgate')

/** Makes `directory` an unused database. Test files may call it concurrently. */
export async function copyTemplate(directory: string): Promise<void> {
  const template = join(CACHE, `pglite-${version}`)
  if (!exists(template)) {
    const draft = join(CACHE, `draft-${process.pid}`, 'template')
    mkdirSync(dirname(draft), { recursive: true })
    await create(draft)
    try {
      renameSync(draft, template)
    } catch (error) {
      // another test file was faster; its template is as good
      if (!exists(template)) throw error
    }
    rmSync(dirname(draft), { recursive: true, force: true })
  }
  mkdirSync(dirname(directory), { recursive: true })
  cpSync(template, directory, { recursive: true })
}
