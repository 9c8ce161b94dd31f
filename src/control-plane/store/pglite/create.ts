/** Creates an empty PGlite data directory in a child process, because creating takes 800 MB of memory. It does not open the database. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { makeTreePrivate } from '../../../shared/fs/private-tree.ts'

const CREATE_TIMEOUT_MS = 120_000
/** Plain JavaScript, so that it runs from source and from the build. */
const SCRIPT = `
process.umask(0o077)
const { PGlite } = require(process.argv[1])
PGlite.create({ dataDir: process.argv[2] }).then(db => db.close()).then(
  () => process.exit(0),
  error => { process.stderr.write(String(error && error.stack || error)); process.exit(1) })`

export function exists(directory: string): boolean {
  return existsSync(join(directory, 'PG_VERSION'))
}

/**
 * Creates the database beside its final directory and renames it when it is complete, so that a kill leaves no partial database.
 * The caller holds the lock of the directory.
 * @throws Error with the output of the child process
 */
export async function create(directory: string): Promise<void> {
  const parent = dirname(directory)
  const draftPrefix = `${basename(directory)}.creating-`
  mkdirSync(parent, { recursive: true })
  for (const name of readdirSync(parent)) {
    if (name.startsWith(draftPrefix)) rmSync(join(parent, name), { recursive: true, force: true })
  }
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new Error(
      `${directory} is neither empty nor a database directory. Set DATABASE_URL to an empty directory.`,
    )
  }
  const draft = join(parent, `${draftPrefix}${process.pid}`)
  await runChild(draft)
  // The library creates files with mode 0666, independent of the umask.
  makeTreePrivate(draft)
  rmSync(directory, { recursive: true, force: true })
  renameSync(draft, directory)
}

function runChild(directory: string): Promise<void> {
  const library = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['-e', SCRIPT, library, directory], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: CREATE_TIMEOUT_MS,
    })
    let output = ''
    child.stderr.on('data', (chunk: Buffer) => {
      if (output.length < 4_096) output += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`the database could not be created (${signal ?? `exit ${code}`}): ${output}`))
    })
  })
}
