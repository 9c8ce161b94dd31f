/** The README against the code: every setting that is read stands in its table, every command in it exists. It runs none. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const readme = read('README.md')
const settings = [
  read('src/app/settings.ts'),
  ...readdirSync(new URL('src/app/settings/', ROOT)).map(name => read(`src/app/settings/${name}`)),
].join('\n')

/** Rows of the table below the heading `## Settings`. */
const rows = readme
  .split('## Settings')[1]!
  .split('\n## ')[0]!
  .split('\n')
  .filter(line => line.startsWith('| `'))

describe('the settings table', () => {
  it('names exactly the settings that are read', () => {
    const taken = [...settings.matchAll(/read\.(?!fault)\w+\(\s*'([A-Z_]+)'/g)].map(match => match[1]!)
    const named = rows.flatMap(row =>
      [...row.split('|')[1]!.matchAll(/`([A-Z_]+)`/g)].map(match => match[1]!),
    )
    expect(taken.length).toBeGreaterThan(20)
    expect(named.sort()).toEqual([...new Set(taken)].sort())
  })

  it('gives the defaults that are read, where they are written as texts', () => {
    const wrong = [...settings.matchAll(/read\.(?:text|durationMs|list)\(\s*'([A-Z_]+)',\s*'([^']+)'/g)]
      .map(([, name, fallback]) => ({
        name,
        fallback,
        row: rows.find(row => row.split('|')[1]!.includes(`\`${name}\``)),
      }))
      .filter(({ row, fallback }) => row === undefined || !row.split('|')[2]!.includes(fallback!))
    expect(wrong).toEqual([])
  })
})

describe('what it points to', () => {
  it('exists: folders and files', () => {
    const paths = [...readme.matchAll(/`((?:src|assembly|policies|toolsets|test|bench)\/[^`\s]*)`/g)].map(
      match => match[1]!,
    )
    const missing = paths.filter(path => !path.includes('secrets/') && !existsSync(new URL(path, ROOT)))
    expect(paths.length).toBeGreaterThan(8)
    expect(missing).toEqual([])
  })

  it('exists: npm scripts', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const called = [...readme.matchAll(/npm run ([a-z:]+)/g)].map(match => match[1]!)
    expect(called.length).toBeGreaterThan(3)
    expect(called.filter(name => scripts[name] === undefined)).toEqual([])
  })
})
