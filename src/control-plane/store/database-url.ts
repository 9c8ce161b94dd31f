/** Parses `DATABASE_URL`. It opens no database. */
import { join, resolve } from 'node:path'

type DatabaseTarget =
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
    'DATABASE_URL is not a valid database address. Use pglite:, pglite:<directory>, pglite:memory or postgres://user:password@host/database.',
  )
}
