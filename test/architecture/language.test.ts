/** The files that people read, except those of `EXEMPT`, against the banned words of `docs/glossary.md`. It judges words, not sentences. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BANNED, bannedWords, type TextFile, vagueNames } from './language.ts'

const ROOT = new URL('../../', import.meta.url).pathname

const READ =
  /\.(tsx?|css|html|mjs|py|go|lua|sh|md|rego|proto|json|ya?ml|tpl|service|txt)$|^(\.ci\/run|Containerfile)$/
/** Generated files, documents and bundles of others, results of benchmarks, goods of the example shop, words of searches, files that hold the banned words. */
const EXEMPT =
  /\.generated\.ts$|package-lock\.json$|^bench\/results\/|^test\/fixtures\/(openapi|policy\/endless|policy\/misbehaving|policy\/costly)\/|^docs\/glossary\.md$|^CONTRIBUTING\.md$|^bench\/RESULTS\.md$|^src\/example\/shop\/seed\.ts$|^test\/unit\/example\/|^test\/architecture\/language/

function trackedFiles(): TextFile[] {
  return execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\0')
    .filter(path => READ.test(path) && !EXEMPT.test(path) && existsSync(ROOT + path))
    .map(path => ({ path, text: readFileSync(ROOT + path, 'utf8') }))
}

describe('the words', () => {
  it('are read from the glossary', () => {
    expect(BANNED.length).toBeGreaterThan(20)
  })

  it('do not occur in any file', () => {
    const files = trackedFiles()
    expect(files.length).toBeGreaterThan(500)
    expect(files.flatMap(bannedWords)).toEqual([])
  })

  it.each([
    'const x = 1 // whoever calls',
    'const remembered = 1',
    'function tellThem() {}',
    'const MOST_BYTES = 1',
    '/** It is no stage. */',
    'the backend is away',
    'has a thread of its own',
  ])('are found in %j', text => {
    expect(bannedWords({ path: 'src/x.ts', text })).toHaveLength(1)
  })

  it.each([
    'there is no such tool',
    'it is no longer served',
    'const doorway = 1',
    'const most_recent = 1',
    'read input.context.answers',
  ])('are not found in %j', text => {
    expect(bannedWords({ path: 'src/x.ts', text })).toEqual([])
  })
})

describe('comments and functions of the product', () => {
  it('name their subject and what they do', () => {
    const files = trackedFiles().filter(({ path }) => /^(src|console\/src)\/.*\.tsx?$/.test(path))
    expect(files.length).toBeGreaterThan(500)
    expect(files.flatMap(vagueNames)).toEqual([])
  })

  it.each([
    '/** Of one request. */',
    '  /** They have no address. */',
    'function shown(api: Api) {',
    '  #timed(input: string): string {',
  ])('are refused: %j', text => {
    expect(vagueNames({ path: 'src/x.ts', text })).toHaveLength(1)
  })

  it.each(['/** For one request. */', 'function showApi(api: Api) {', '  if (bounded(x)) return'])(
    'are accepted: %j',
    text => {
      expect(vagueNames({ path: 'src/x.ts', text })).toEqual([])
    },
  )
})
