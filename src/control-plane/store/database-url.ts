/** Parses the address of a database, and checks the TLS files that an address names. */
import { accessSync, constants } from 'node:fs'
import { join, resolve } from 'node:path'

export type DatabaseTarget =
  | { readonly kind: 'pglite'; readonly directory: string }
  | { readonly kind: 'memory' }
  | { readonly kind: 'postgres'; readonly url: string }

/**
 * `pglite:` (in `dataDir`), `pglite:<dir>`, `pglite:memory` or `postgres://…`.
 * @throws Error that lists the valid forms, without the value, which may contain a password.
 */
export function databaseTarget(url: string, dataDir: string): DatabaseTarget {
  if (url === 'pglite:memory') return { kind: 'memory' }
  if (url.startsWith('pglite:')) {
    const directory = url.slice('pglite:'.length)
    return { kind: 'pglite', directory: resolve(directory === '' ? join(dataDir, 'postgres') : directory) }
  }
  if (/^postgres(ql)?:\/\//.test(url)) return { kind: 'postgres', url }
  throw new Error(
    'DATABASE_URL is not a valid database address. Use "pglite:", "pglite:<directory>", "pglite:memory" or "postgres://user:password@host/database".',
  )
}

/** Parameters that name a PEM file, as libpq has them (PostgreSQL, §34.1.2). */
const FILES = ['sslrootcert', 'sslcert', 'sslkey']

/**
 * @param name of the setting
 * @throws Error that names the parameter whose file cannot be read, or the missing one
 */
export function checkDatabaseFiles(name: string, url: string): void {
  const parameters = new URL(url).searchParams
  for (const parameter of FILES) {
    const path = parameters.get(parameter)
    if (path === null) continue
    try {
      accessSync(path, constants.R_OK)
    } catch {
      throw new Error(
        `${name}: the file in the URL parameter ${parameter} cannot be read. Check the path and the permissions of the file.`,
      )
    }
  }
  if (parameters.has('sslcert') !== parameters.has('sslkey'))
    throw new Error(
      `${name}: only one of the URL parameters sslcert and sslkey is set. Set both, or neither.`,
    )
}
