/** What a process loads by starting: a gateway alone does not pay for what only others use. It judges the static imports, not `import()`. */
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

/** Modules whose code runs when the file is loaded; types are gone by then. */
function loadedBy(path: string): string[] {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest)
  return source.statements.flatMap(statement => {
    if (ts.isImportDeclaration(statement) && statement.importClause?.isTypeOnly !== true)
      return [(statement.moduleSpecifier as ts.StringLiteral).text]
    if (ts.isExportDeclaration(statement) && !statement.isTypeOnly && statement.moduleSpecifier !== undefined)
      return [(statement.moduleSpecifier as ts.StringLiteral).text]
    return []
  })
}

/** Module or package → the chain of files that leads to it. */
function reachedFrom(entry: string): ReadonlyMap<string, string> {
  const reached = new Map<string, string>()
  const visit = (path: string, chain: string): void => {
    const name = relative(ROOT, path)
    if (reached.has(name)) return
    const here = chain === '' ? name : `${chain} → ${name}`
    reached.set(name, here)
    for (const module of loadedBy(path)) {
      if (module.startsWith('.')) visit(join(dirname(path), module), here)
      else if (!module.startsWith('node:') && !reached.has(module)) reached.set(module, `${here} → ${module}`)
    }
  }
  visit(join(ROOT, entry), '')
  return reached
}

/** The chain to a module, or to a part of a package such as `hono/cors`. */
function chainTo(module: string, reached: ReadonlyMap<string, string>): string | undefined {
  for (const [name, chain] of reached) if (name === module || name.startsWith(`${module}/`)) return chain
  return undefined
}

it('a part of a package counts as the package, another package with the same beginning does not', () => {
  const reached = new Map([
    ['hono/cors', 'main.ts → hono/cors'],
    ['pg-types', 'main.ts → pg-types'],
  ])
  expect([chainTo('hono', reached), chainTo('pg', reached)]).toEqual(['main.ts → hono/cors', undefined])
})

describe.each(['src/app/main.ts', 'src/app/main/workers/thread.ts'])('loading %s', entry => {
  const reached = reachedFrom(entry)
  it.each([
    '@kubernetes/client-node',
    '@electric-sql/pglite',
    'hono',
    'ioredis',
    'kafkajs',
    'kysely',
    'oidc-provider',
    'pg',
    'src/control-plane/api/control-plane.ts',
    'src/data-plane/listing/search/tool-index.ts',
  ])('does not load %s', module => {
    expect(chainTo(module, reached)).toBeUndefined()
  })

  it('loads two parts of undici, and not its fetch, WebSocket and cookies', () => {
    const parts = [...reached.keys()].filter(name => name.split('/')[0] === 'undici')
    expect(parts.sort()).toEqual(['undici/lib/core/connect.js', 'undici/lib/dispatcher/pool.js'])
  })

  it('loads no more of zod than zod/mini, which reads resources', () => {
    const parts = [...reached.keys()].filter(name => name.split('/')[0] === 'zod')
    expect(parts.filter(name => name !== 'zod/mini')).toEqual([])
  })

  it('loads what every call needs', () => {
    for (const module of ['undici/lib/dispatcher/pool.js', 'pino', 'src/data-plane/pipeline/compose.ts'])
      expect([...reached.keys()]).toContain(module)
  })
})
