/** The house rules, executed: where rooms stand (`rooms.ts`), who may import whom, and how files look. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ADAPTERS, CHOOSERS, FLOORS, NEVER, PLACES, SIDEWAYS, VENDORS } from './rooms.ts'
import * as rules from './rules.ts'
import { parseSource, readSources } from './source-files.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const src = readSources(`${ROOT}src`)
const assembly = readSources(`${ROOT}assembly`)
const others = ['test', 'bench'].flatMap(folder => readSources(ROOT + folder))

describe('src', () => {
  it('has files, and each in a room of the table', () => {
    expect(src.length).toBeGreaterThan(100)
    expect(rules.everyFileHasARoom(src)).toEqual([])
  })

  it.each([
    ['imports point down only', rules.importsPointDown],
    ['steps that are forbidden are not taken', rules.forbiddenStepsAreNotTaken],
    ['only main imports adapters', rules.onlyMainImportsAdapters],
    ['each vendor package lives in its room', rules.vendorsStayInTheirRoom],
    ['the environment is read in one place', rules.environmentIsReadOnce],
    ['the console belongs to commands', rules.consoleStaysInCommands],
    ['nothing outside src is imported', rules.foldersAreNotLeft],
  ] as const)('%s', (_, rule) => {
    expect(rule(src)).toEqual([])
  })
})

describe('assembly', () => {
  it('has files, and imports nothing but itself', () => {
    expect(assembly.length).toBeGreaterThan(0)
    expect(rules.foldersAreNotLeft(assembly)).toEqual([])
    const packages = assembly.flatMap(file => file.imports.filter(specifier => !specifier.startsWith('.')))
    expect(packages).toEqual([])
  })
})

describe.each([
  ['src', src, rules.filesAreShort],
  ['assembly', assembly, rules.filesAreShort],
  ['test and bench', others, rules.testsAreShort],
] as const)('files in %s', (_, files, short) => {
  it.each([
    ['open with a sentence', rules.filesOpenWithASentence],
    ['are short', short],
    ['have names that tell what is inside', rules.namesTellWhatIsInside],
  ] as const)('%s', (_name, rule) => {
    expect(rule(files)).toEqual([])
  })
})

describe('package.json', () => {
  const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
  const lock = JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8'))
  const versions: Record<string, string> = { ...manifest.dependencies, ...manifest.devDependencies }

  it('pins every package to one version', () => {
    const loose = Object.entries(versions).filter(
      ([, version]) => !/^(npm:[@a-z0-9/.-]+@)?\d+\.\d+\.\d+(-[a-z0-9.]+)?$/.test(version),
    )
    expect(loose).toEqual([])
  })

  it('takes the republished build of uWebSockets.js under its own name, with its hash', () => {
    expect(versions['uWebSockets.js']).toBe('npm:@trufflesuite/uws-js-unofficial@20.30.0-unofficial.0')
    expect(lock.packages['node_modules/uWebSockets.js'].integrity).toMatch(/^sha512-/)
  })

  it.each([
    ['undici', '7.'],
    ['vitest', '4.'],
    ['kysely', '0.28.'],
    ['@modelcontextprotocol/sdk', '1.32.2'],
  ])('stays with the line of %s that supports Node 20', (name, start) => {
    expect(versions[name]?.startsWith(start)).toBe(true)
  })

  it('lists every vendor that src imports among the packages of production', () => {
    const used = new Set(
      src.flatMap(file => file.imports.filter(specifier => !/^(\.|node:)/.test(specifier))),
    )
    const names = VENDORS.map(vendor => vendor.package).filter(name =>
      [...used].some(specifier => specifier === name || specifier.startsWith(`${name}/`)),
    )
    expect(names.filter(name => manifest.dependencies[name] === undefined)).toEqual([])
    expect(names.length).toBeGreaterThan(5)
  })
})

describe('the table', () => {
  it('gives a reason for every exception', () => {
    const exceptions = [...SIDEWAYS, ...NEVER, ...CHOOSERS]
    expect(exceptions.filter(exception => exception.reason.length < 10)).toEqual([])
    expect(VENDORS.filter(vendor => vendor.rooms.length > 1 && vendor.reason === undefined)).toEqual([])
  })

  it('names each place once, on a floor that exists', () => {
    expect(new Set(PLACES.map(place => place.path)).size).toBe(PLACES.length)
    expect(PLACES.filter(place => !FLOORS.includes(place.floor))).toEqual([])
    expect(ADAPTERS.filter(path => rules.placeOf(path) === undefined)).toEqual([])
  })
})

/** A rule that lets everything through would pass above: each is shown a file that it must refuse. */
describe('every rule bites', () => {
  const DOC = '/** Holds one thing and does no other. */\n'
  it.each([
    ['a file in no room', rules.everyFileHasARoom, 'cellar/x.ts', ''],
    ['a step up', rules.importsPointDown, 'stages/x.ts', "import { a } from '../gateway/call.ts'"],
    [
      'a step up for types',
      rules.importsPointDown,
      'model/x.ts',
      "import type { a } from '../pipeline/stage.ts'",
    ],
    [
      'a step up hidden in a type',
      rules.importsPointDown,
      'model/x.ts',
      "type A = import('../pipeline/stage.ts').A",
    ],
    ['a step up at run time', rules.importsPointDown, 'pipeline/x.ts', "await import('../stages/index.ts')"],
    [
      'a step sideways',
      rules.importsPointDown,
      'identity/x.ts',
      "export * from '../quota/memory/memory-quota.ts'",
    ],
    ['an interface that knows its room', rules.importsPointDown, 'egress/egress.ts', "import './client.ts'"],
    [
      'stages that use the store',
      rules.forbiddenStepsAreNotTaken,
      'stages/x.ts',
      "import '../store/store.ts'",
    ],
    [
      'control that uses the gateway',
      rules.forbiddenStepsAreNotTaken,
      'control/x.ts',
      "import '../gateway/call.ts'",
    ],
    ['an adapter', rules.onlyMainImportsAdapters, 'gateway/x.ts', "import '../sessions/redis/store.ts'"],
    [
      'an adapter in a command',
      rules.onlyMainImportsAdapters,
      'cli/x.ts',
      "import '../store/pglite/open.ts'",
    ],
    ['a vendor elsewhere', rules.vendorsStayInTheirRoom, 'gateway/x.ts', "import { jwtVerify } from 'jose'"],
    [
      'a vendor by require',
      rules.vendorsStayInTheirRoom,
      'server/x.ts',
      "createRequire(import.meta.url)('uWebSockets.js')",
    ],
    [
      'an unknown vendor',
      rules.vendorsStayInTheirRoom,
      'gateway/x.ts',
      "import pad from '@left/pad/deep.js'",
    ],
    ['the environment', rules.environmentIsReadOnce, 'quota/x.ts', 'const a = process.env.A'],
    [
      'the environment by import',
      rules.environmentIsReadOnce,
      'quota/x.ts',
      "import { env as e } from 'node:process'",
    ],
    ['the console', rules.consoleStaysInCommands, 'quota/x.ts', "console.error('x')"],
    ['the kernel', rules.foldersAreNotLeft, 'quota/x.ts', "import '../../assembly/window.ts'"],
    ['a long file', rules.filesAreShort, 'quota/x.ts', '\n'.repeat(400)],
    ['a long test', rules.testsAreShort, 'unit/x.test.ts', '\n'.repeat(600)],
    ['an empty name', rules.namesTellWhatIsInside, 'quota/time-utils.ts', ''],
    ['a name in capitals', rules.namesTellWhatIsInside, 'quota/timeWindow.ts', ''],
  ] as const)('on %s', (_, rule, path, text) => {
    expect(rule([parseSource(path, DOC + text)])).toHaveLength(1)
  })

  it.each(['import "x"', '// a comment.\n', '/** */ const a = 1.5', '/** No sentence */\n'])(
    'on a file that opens with %j',
    text => {
      expect(rules.filesOpenWithASentence([parseSource('quota/x.ts', text)])).toHaveLength(1)
    },
  )

  it('and none on a file that keeps them', () => {
    const text = `#!/usr/bin/env node\n${DOC}import { a } from '../pipeline/stage.ts'\nimport 'node:fs'\n`
    for (const rule of Object.values(rules).filter(
      value => typeof value === 'function' && value.length === 1,
    ))
      if (rule !== rules.placeOf) expect((rule as rules.Rule)([parseSource('quota/x.ts', text)])).toEqual([])
  })
})
