/** Creates an empty PGlite data directory in a short-lived child process: creating costs 800 MB in the process that does it. It opens nothing here. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { makeTreePrivate } from '../../../shared/fs/private-tree.ts'

const CREATE_TIMEOUT_MS = 120_000
/** Plain JavaScript, so that it runs the same from source and from the build. */
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
 * Creates the database beside its place and moves it there when it is complete, so that a kill leaves no half database.
 * The caller holds the directory's lock.
 * @throws Error with what the child process wrote
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
      `${directory} is neither empty nor a database directory. Give DATABASE_URL a directory of its own.`,
    )
  }
  const draft = join(parent, `${draftPrefix}${process.pid}`)
  await runChild(draft)
  // the library gives its files mode 0666, whatever the umask
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
    let complaint = ''
    child.stderr.on('data', (chunk: Buffer) => {
      if (complaint.length < 4_096) complaint += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`the database could not be created (${signal ?? `exit ${code}`}): ${complaint}`))
    })
  })
}
