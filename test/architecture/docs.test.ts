/** The pages against the code (refusals, settings, paths, headings, npm scripts), and citations of pages in the code. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { REFUSALS } from '../../src/model/refusal.ts'
import { CLIENT_PROGRAMS, PYTHON_PROGRAMS, serviceOf } from '../fixtures/client-programs.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md') && !/^(node_modules|\.vitepress)\//.test(path))
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

it.each(['SECURITY.md', 'docs/security-review.md'])('every test that %s names exists', page => {
  const named = [...read(page).matchAll(/`(test\/[\w/.-]+)`/g)].map(match => match[1]!)
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
})

describe('the folders in CONTRIBUTING.md', () => {
  const listed: string[] = []
  let parent = ''
  for (const line of read('CONTRIBUTING.md').split('```\nsrc/')[1]!.split('```')[0]!.split('\n')) {
    const [, indent = '', names] = /^( {2}| {4})((?:[\w-]+\/(?:, | |$))+)/.exec(line) ?? []
    for (const name of names?.split('/').map(part => part.replace(/^[, ]+/, '')) ?? []) {
      if (name.trim() === '') continue
      if (indent.length === 2) parent = name
      listed.push(indent.length === 2 ? name : `${parent}/${name}`)
    }
  }
  const foldersOf = (path: string): string[] =>
    readdirSync(join(ROOT, path), { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(entry => entry.name)

  it('are all folders of src, and exist', () => {
    expect(listed.filter(name => !name.includes('/')).sort()).toEqual(foldersOf('src').sort())
    for (const name of listed) expect(existsSync(join(ROOT, 'src', name)), name).toBe(true)
  })

  it('are all folders of the data plane', () => {
    const inDataPlane = listed.filter(name => name.startsWith('data-plane/')).map(name => name.slice(11))
    expect(inDataPlane.sort()).toEqual(foldersOf('src/data-plane').sort())
  })
})

describe('docs/reference/settings.md', () => {
  const settings = [
    read('src/app/settings.ts'),
    ...readdirSync(join(ROOT, 'src/app/settings')).map(name => read(`src/app/settings/${name}`)),
  ].join('\n')
  const rows = read('docs/reference/settings.md')
    .split('## Settings')[1]!
    .split('\n## ')[0]!
    .split('\n')
    .filter(line => line.startsWith('| `'))

  it('names exactly the settings that are read', () => {
    const taken = [...settings.matchAll(/read\.(?!fault)\w+\(\s*'([A-Z_]+)'/g)].map(match => match[1]!)
    const named = rows.flatMap(row =>
      [...row.split('|')[1]!.matchAll(/`([A-Z_]+)`/g)].map(match => match[1]!),
    )
    expect(taken.length).toBeGreaterThan(20)
    expect(named.sort()).toEqual([...new Set(taken)].sort())
  })

  it('gives the defaults that are read, where they are written as texts', () => {
    const wrong = [...settings.matchAll(/read\.(?:text|path|durationMs|list)\(\s*'([A-Z_]+)',\s*'([^']+)'/g)]
      .map(([, name, fallback]) => ({
        name,
        fallback,
        row: rows.find(row => row.split('|')[1]!.includes(`\`${name}\``)),
      }))
      .filter(({ row, fallback }) => row === undefined || !row.split('|')[2]!.includes(fallback!))
    expect(wrong).toEqual([])
  })
})

describe('README.md', () => {
  it('fits on a screen', () => {
    expect(read('README.md').split('\n').length).toBeLessThan(70)
  })
})

/** TypeScript files of the folders that the pages name. */
const FILES = ['src', 'assembly', 'bench', 'test'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => `${folder}/${path}`),
)

describe.each(pages)('%s', page => {
  const text = read(page)

  it('names files and folders that exist', () => {
    const paths = [
      ...text.matchAll(
        /`((?:src|assembly|policies|toolsets|test|bench|docs|deploy|scripts)\/[^`\s*<]*[^`\s*<:])`/g,
      ),
    ]
    const missing = paths.map(match => match[1]!).filter(path => !existsSync(join(ROOT, path)))
    expect(missing).toEqual([])
  })

  it('names TypeScript files that exist, also where the folders before are left out', () => {
    const named = [...text.matchAll(/(?<![\w*.-])[\w/-]+(?:\.[\w-]+)*\.ts\b/g)].map(match => match[0])
    const missing = named.filter(name => !FILES.some(file => `/${file}`.endsWith(`/${name}`)))
    expect(missing).toEqual([])
  })

  it('calls npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const called = [...text.matchAll(/npm run ([a-z:]+)/g)].map(match => match[1]!)
    expect(called.filter(name => scripts[name] === undefined)).toEqual([])
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

describe('scripts/services.sh', () => {
  it('installs every client that the title of a skipped test names', () => {
    const services = /^all=\((.*)\)$/m.exec(read('scripts/services.sh'))![1]!.split(' ')
    const named = Object.values({ ...CLIENT_PROGRAMS, ...PYTHON_PROGRAMS }).map(serviceOf)
    expect(named.filter(name => !services.includes(name))).toEqual([])
  })

  it('leaves nothing out of the short check that it cannot install', () => {
    const [services, long] = ['all', 'long'].map(array =>
      new RegExp(`^${array}=\\((.*)\\)$`, 'm').exec(read('scripts/services.sh'))![1]!.split(' '),
    )
    expect(long!.filter(name => !services!.includes(name))).toEqual([])
  })
})

/** Written `(docs/reference/http.md, Claims)`. */
describe('citations of pages in the code', () => {
  it('name pages and headings that exist', () => {
    const files = FILES.filter(path => !path.endsWith('docs.test.ts'))
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
