/** The pages against the code: each setting that is read is documented, and each path, link and command that is named exists. It runs no command. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = new URL('../../', import.meta.url).pathname
const read = (path: string): string => readFileSync(ROOT + path, 'utf8')
const settings = [
  read('src/app/settings.ts'),
  ...readdirSync(`${ROOT}src/app/settings`).map(name => read(`src/app/settings/${name}`)),
].join('\n')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

/** Rows of the table below the heading `## Settings`. */
const rows = read('docs/reference/settings.md')
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

describe('the README', () => {
  it('fits on a screen', () => {
    expect(read('README.md').split('\n').length).toBeLessThan(70)
  })

  it('calls npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const called = [...read('README.md').matchAll(/npm run ([a-z:]+)/g)].map(match => match[1]!)
    expect(called.length).toBeGreaterThan(3)
    expect(called.filter(name => scripts[name] === undefined)).toEqual([])
  })
})

describe.each(pages)('%s', page => {
  const text = read(page)

  it('links to files that exist', () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(match => match[1]!)
    expect(links.filter(link => !existsSync(join(ROOT, dirname(page), link)))).toEqual([])
  })

  it('names paths of the repository that exist', () => {
    const paths = [
      ...text.matchAll(
        /`((?:src|assembly|policies|toolsets|test|bench|docs|deploy|scripts)\/[^`\s{}<>*…]*)`/g,
      ),
    ].map(match => match[1]!.replace(/:\d+$/, ''))
    const missing = paths.filter(path => !/secrets\/|my-/.test(path) && !existsSync(ROOT + path))
    expect(missing).toEqual([])
  })
})
