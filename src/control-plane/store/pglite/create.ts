/** Creates a PGlite data directory, from a template or in a child process, and checks whether one exists. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { makeTreePrivate } from '../../../base/fs/private-tree.ts'

const CREATE_TIMEOUT_MS = 120_000
/** Written by `scripts/write-database-template.mjs`; the sources have none. */
const TEMPLATE = new URL('../../../database-template.gz', import.meta.url)
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
 * @throws Error of the file system, for a directory that is not empty, or with the output of the child process
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
      `${directory} is neither empty nor a database directory. Set DATABASE_URL to pglite:<directory> with an empty or new directory.`,
    )
  }
  const draft = join(parent, `${draftPrefix}${process.pid}`)
  if (existsSync(TEMPLATE)) unpackTemplate(draft)
  else await runChild(draft)
  // The library creates files with mode 0666, independent of the umask.
  makeTreePrivate(draft)
  rmSync(directory, { recursive: true, force: true })
  renameSync(draft, directory)
}

/** A line of JSON with directories and files, then the content of the files. @throws Error of the file system */
function unpackTemplate(directory: string): void {
  const packed = readFileSync(TEMPLATE)
  // one buffer of the whole size, which the last four bytes state (RFC 1952), in place of pieces that are then copied
  const bytes = gunzipSync(packed, { chunkSize: packed.readUInt32LE(packed.length - 4) + 1 })
  const start = bytes.indexOf(10)
  const { directories, files } = JSON.parse(bytes.toString('utf8', 0, start)) as {
    readonly directories: readonly string[]
    readonly files: readonly (readonly [path: string, length: number])[]
  }
  mkdirSync(directory, { mode: 0o700 })
  for (const path of directories) mkdirSync(join(directory, path), { mode: 0o700 })
  let at = start + 1
  for (const [path, length] of files) {
    writeFileSync(join(directory, path), bytes.subarray(at, at + length), { mode: 0o600 })
    at += length
  }
}

/** In a child process, because the creation takes 800 MB of memory. */
function runChild(directory: string): Promise<void> {
  const library = createRequire(import.meta.url).resolve('@electric-sql/pglite')
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--liftoff-only', '-e', SCRIPT, library, directory], {
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
