/** What the tests of the short check need is what `scripts/services.sh --ci` brings: a machine without a cache would fail otherwise. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, it } from 'vitest'
import { LONG } from '../../vitest.config.ts'

const ROOT = join(import.meta.dirname, '../..')
/** Not where a block of the bench's page is named. */
const NAMED = /(?<!README\.md: bash )scripts\/services\.sh ((?:[a-z0-9-]+ ?)+)/g

/** Names of the tools that only the long check has. */
const [, only = ''] = /^long=\((.*)\)$/m.exec(readFileSync(join(ROOT, 'scripts/services.sh'), 'utf8')) ?? []
const long = new Set(only.split(' '))

function namesIn(text: string): string[] {
  return [...text.matchAll(NAMED)].flatMap(([, names]) => names!.trim().split(' '))
}

it('no test of the short check names a tool that only the long check has', () => {
  expect(long.size).toBeGreaterThan(10)
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map(file => `test/${file}`)
    .filter(file => file.endsWith('.test.ts') && !LONG.some(pattern => matchesGlob(file, pattern)))
  const wrong = files.flatMap(file =>
    namesIn(readFileSync(join(ROOT, file), 'utf8'))
      .filter(name => long.has(name))
      .map(name => `${file} needs ${name}`),
  )
  expect(wrong).toEqual([])
})

it('names are found in a hint', () => {
  expect(namesIn('needs the clients (scripts/services.sh conformance) and opa')).toEqual(['conformance'])
})
