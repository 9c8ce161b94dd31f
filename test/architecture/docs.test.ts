/** The pages in docs/ against the code: refusals, settings, paths, headings. It judges no wording. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { REFUSALS } from '../../src/shared/call/refusal.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const pages = [
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md'))
    .map(path => `docs/${path}`),
]

function headingsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(match => match[1]!)
}

/** As GitHub makes them. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

describe('docs/reference/http.md', () => {
  const rows = new Map(
    read('docs/reference/http.md')
      .split('## Status per refusal reason')[1]!
      .split('\n## ')[0]!
      .split('\n')
      .map(line => line.split('|').map(cell => cell.trim()))
      .filter(cells => cells[1]?.startsWith('`'))
      .map(cells => [cells[1]!.slice(1, -1), cells]),
  )

  it('has one row for each reason', () => {
    expect([...rows.keys()].sort()).toEqual(Object.keys(REFUSALS).sort())
  })

  it.each(Object.entries(REFUSALS))('states error and status of %s', (reason, { error, status }) => {
    const [, , statedError, statedStatus] = rows.get(reason)!
    expect([statedError, statedStatus]).toEqual([`\`${error}\``, String(status)])
  })
})

describe('docs/reference/settings.md', () => {
  const settingsIn = (page: string): string[] =>
    read(page)
      .split('## Settings')[1]!
      .split('\n## ')[0]!
      .split('\n')
      .filter(line => line.startsWith('| `'))
      .map(line => line.split('|')[1]!.trim())

  it('names the settings of the README', () => {
    const named = settingsIn('README.md')
    // the README may point here instead of having the table
    if (named.length > 0) expect(settingsIn('docs/reference/settings.md')).toEqual(named)
  })
})

describe.each(pages)('%s', page => {
  const text = read(page)

  it('names files and folders that exist', () => {
    const paths = [
      ...text.matchAll(
        /`((?:src|assembly|policies|toolsets|test|bench|docs|deploy|scripts)\/[^`\s*<]*[^`\s*<:])`/g,
      ),
    ]
    const missing = paths.map(match => match[1]!).filter(path => !existsSync(join(ROOT, path)))
    // made by another change of the same release
    expect(missing.filter(path => path !== 'test/integration')).toEqual([])
  })

  it('links to pages and headings that exist', () => {
    const broken = [...text.matchAll(/\]\(([^)]+)\)/g)]
      .map(match => match[1]!)
      .filter(link => !/^https?:/.test(link))
      .filter(link => {
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? page : join(dirname(page), path)
        if (!existsSync(join(ROOT, target))) return true
        return anchor !== undefined && !headingsOf(target).map(anchorOf).includes(anchor)
      })
    expect(broken).toEqual([])
  })
})

/** Written `(docs/reference/http.md, Claims)`. */
describe('citations of pages in the code', () => {
  it('name pages and headings that exist', () => {
    const files = ['src', 'assembly', 'test', 'bench'].flatMap(folder =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter(path => path.endsWith('.ts') && !path.endsWith('docs.test.ts'))
        .map(path => `${folder}/${path}`),
    )
    const wrong = files.flatMap(file =>
      [...read(file).matchAll(/\(?(docs\/[\w/-]+\.md)(?:, ([^);:]+)\))?/g)]
        .filter(([, page, heading]) => {
          if (!existsSync(join(ROOT, page!))) return true
          return heading !== undefined && !headingsOf(page!).includes(heading)
        })
        .map(([citation]) => `${file}: ${citation}`),
    )
    expect(wrong).toEqual([])
  })
})
