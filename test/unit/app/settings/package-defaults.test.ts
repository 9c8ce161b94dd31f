/** Files that the working directory lacks: those of the package take their place, in production the policy bundle only. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inspectSettings } from '../../../../src/app/settings.ts'

const PACKAGE = join(import.meta.dirname, '../../../..')
const started = process.cwd()
let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolgate-defaults-')))
  process.chdir(folder)
})
afterEach(() => {
  process.chdir(started)
  rmSync(folder, { recursive: true })
})

function pathsIn(env: Readonly<Record<string, string>>) {
  const { policy, plansFile, toolSets } = inspectSettings(env).settings
  return [policy.bundle, plansFile, toolSets.source === 'directory' ? toolSets.directory : '']
}

it('come from the package in an empty folder', () => {
  const paths = pathsIn({})
  expect(paths).toEqual(['policies/bundle.tar.gz', 'plans.yaml', 'toolsets'].map(path => join(PACKAGE, path)))
  expect(paths.filter(path => !existsSync(path))).toEqual([])
})

it('come from the working directory where it has them', () => {
  mkdirSync('toolsets')
  writeFileSync('plans.yaml', '')
  expect(pathsIn({})).toEqual([join(PACKAGE, 'policies/bundle.tar.gz'), './plans.yaml', './toolsets'])
})

it('are not those of the example in production', () => {
  expect(pathsIn({ NODE_ENV: 'production' })).toEqual([
    join(PACKAGE, 'policies/bundle.tar.gz'),
    './plans.yaml',
    './toolsets',
  ])
})

it('do not replace a path that is set, although it does not exist', () => {
  const env = { POLICY_BUNDLE: 'other.tar.gz', PLANS: 'other.yaml', TOOLSETS: 'other' }
  expect(pathsIn(env)).toEqual(Object.values(env))
})
