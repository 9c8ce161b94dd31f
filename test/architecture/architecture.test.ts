/** The rules of `architecture.md` (`rules.ts`), applied to the files, and checks of packages and of the tables (`layers.ts`). */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NATIVE_BUILDS } from '../../src/net/server/uws/builds.ts'
import { foldersDoNotGrow } from './growth.ts'
import { ADAPTERS, CHOOSERS, FORBIDDEN, LAYERS, VENDORS } from './layers.ts'
import * as rules from './rules.ts'
import { parseSource, readSources, type SourceFile } from './source-files.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const src = readSources(`${ROOT}src`)
const assembly = readSources(`${ROOT}assembly`)
const page = readSources(`${ROOT}console/src`)
const others = ['test', 'bench'].flatMap(folder => readSources(ROOT + folder))

describe('src', () => {
  it('has files, and each in a folder of the table', () => {
    expect(src.length).toBeGreaterThan(100)
    expect(rules.everyFileHasALayer(src)).toEqual([])
  })

  it.each([
    ['imports point down only', rules.importsPointDown],
    ['forbidden imports are absent', rules.forbiddenImportsAreAbsent],
    ['phases share code through one folder', rules.stagesShareThroughOneFolder],
    ['only app imports adapters', rules.onlyAppImportsAdapters],
    ['imports have no cycle', rules.importsHaveNoCycle],
    ['each vendor package is imported in its folder', rules.vendorsStayInTheirFolder],
    ['the environment is read in app', rules.environmentIsReadInApp],
    ['the console belongs to commands', rules.consoleStaysInCommands],
    ['nothing outside src is imported', rules.foldersAreNotLeft],
  ] as const)('%s', (_, rule) => {
    expect(rule(src)).toEqual([])
  })
})

describe('growth', () => {
  const within = (folder: string, files: readonly SourceFile[]) =>
    files.map(file => ({ ...file, path: `${folder}/${file.path}` }))

  it('no folder has more lines than the table', () => {
    const bench = readSources(`${ROOT}bench`)
    const all = [
      ['src', src],
      ['assembly', assembly],
      ['console/src', page],
      ['bench', bench],
    ] as const
    expect(foldersDoNotGrow(all.flatMap(([folder, files]) => within(folder, files)))).toEqual([])
  })

  it('a line more is reported, and a file outside of them', () => {
    const text = '\n'.repeat(1_000_000)
    expect(foldersDoNotGrow(within('src/base', [parseSource('x.ts', text)]))[0]).toContain('src/base has')
    expect(foldersDoNotGrow(within('cellar', [parseSource('x.ts', '')]))[0]).toContain('cellar/x.ts')
  })
})

describe('assembly', () => {
  it('has files, and imports nothing but itself', () => {
    expect(assembly.length).toBeGreaterThan(0)
    expect(rules.foldersAreNotLeft(assembly)).toEqual([])
    expect(rules.importsHaveNoCycle(assembly)).toEqual([])
    const packages = assembly.flatMap(file => file.imports.filter(specifier => !specifier.startsWith('.')))
    expect(packages).toEqual([])
  })
})

describe('console', () => {
  it('has files, imports nothing outside its folder, and few packages, which the build bundles', () => {
    expect(page.length).toBeGreaterThan(10)
    expect(rules.foldersAreNotLeft(page)).toEqual([])
    const packages = page.flatMap(file => file.imports.filter(specifier => !specifier.startsWith('.')))
    // yaml: OpenAPI documents that were sent as text, loaded when the portal shows one; CodeMirror: loaded by the policy editor; uPlot: by the first chart
    const known = /^(preact|@preact\/signals|uplot|yaml|@codemirror|@lezer)(\/|$)/
    expect([...new Set(packages)].filter(name => !known.test(name))).toEqual([])
    expect(rules.environmentIsReadInApp(page)).toEqual([])
  })

  it('is built by a tool that the production install does not have', () => {
    const { dependencies } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
    expect(['vite', 'preact', '@preact/signals'].filter(name => dependencies[name] !== undefined)).toEqual([])
  })
})

describe.each([
  ['src', src, rules.filesAreShort],
  ['assembly', assembly, rules.filesAreShort],
  ['console', page, rules.filesAreShort],
  ['test and bench', others, rules.testsAreShort],
] as const)('files in %s', (_, files, short) => {
  it.each([
    ['open with a sentence', rules.filesOpenWithASentence],
    ['are short', short],
    ['have names that say what is inside', rules.namesSayWhatIsInside],
    ['import each other without a cycle', rules.importsHaveNoCycle],
  ] as const)('%s', (_name, rule) => {
    expect(rule(files)).toEqual([])
  })
})

it('only test/fixtures/key-pair.ts generates keys with node:crypto, and says why', () => {
  const makers = [...src, ...others].filter(({ text }) =>
    /import \{[^}]*\bgenerateKeyPair(Sync)?\b[^}]*\} from 'node:crypto'/.test(text),
  )
  expect(makers.map(({ path }) => path)).toEqual(['fixtures/key-pair.ts'])
})

it('no test replaces all functions of a module, because the prototypes of its classes are shared with other modules and later files', () => {
  const replacing = /\bvi\.(do)?mock\((?:[^,()]+\)|[^)]*\bspy: true)/
  expect(others.filter(({ text }) => replacing.test(text)).map(({ path }) => path)).toEqual([])
  for (const rest of ["('node:zlib')", "('node:zlib', { spy: true })"])
    expect(`vi.mock${rest}`).toMatch(replacing)
})

it('a module that tests share registers no hook when it loads', () => {
  // one worker runs many files with the modules it has loaded: the hooks would belong to the first file alone
  const registering = others.filter(
    ({ path, text }) => !path.endsWith('.test.ts') && /^(before|after)(All|Each)\(/m.test(text),
  )
  // a setup file, which runs before each file
  expect(registering.map(({ path }) => path)).toEqual(['mutation/setup.ts'])
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

  it('takes two republished builds of uWebSockets.js, with their hashes', () => {
    expect(versions['uWebSockets.js']).toBe('npm:@trufflesuite/uws-js-unofficial@20.30.0-unofficial.0')
    expect(versions['@btc-vision/uwebsockets.js']).toBe('20.57.0')
    for (const { package: name } of NATIVE_BUILDS)
      expect(lock.packages[`node_modules/${name}`].integrity).toMatch(/^sha512-/)
  })

  it('has installed the binaries that the hashes of src/net/server/uws/builds.ts describe', () => {
    const require = createRequire(import.meta.url)
    const differing = NATIVE_BUILDS.flatMap(build =>
      Object.entries(build.sha256).filter(([platform, sha256]) => {
        const folder = join(dirname(require.resolve(build.package)), build.folder)
        const content = readFileSync(join(folder, `uws_${platform}.node`))
        return createHash('sha256').update(content).digest('hex') !== sha256
      }),
    )
    expect(differing).toEqual([])
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

describe('the planes', () => {
  it.each([
    ['data-plane/', 'control-plane/'],
    ['control-plane/', 'data-plane/'],
  ])('%s imports nothing of %s', (from, to) => {
    const wrong = src
      .filter(file => file.path.startsWith(from))
      .flatMap(file => rules.importsInto([file], to))
    expect(wrong).toEqual([])
  })
})

describe('the table', () => {
  it('gives a reason for every exception', () => {
    expect([...FORBIDDEN, ...CHOOSERS].filter(exception => exception.reason.length < 10)).toEqual([])
    expect(VENDORS.filter(vendor => vendor.folders.length > 1 && vendor.reason === undefined)).toEqual([])
  })

  it('names folders that exist, each once', () => {
    const named = [...LAYERS.flat(), ...ADAPTERS, ...FORBIDDEN.flatMap(({ from, to }) => [from, to])]
    const empty = named.filter(folder => !src.some(file => file.path.startsWith(folder)))
    expect(empty).toEqual([])
    expect(new Set(LAYERS.flat()).size).toBe(LAYERS.flat().length)
  })

  it('holds no exception that nothing uses', () => {
    const unused = CHOOSERS.filter(
      ({ from, to }) =>
        !src.some(file => file.path.startsWith(from) && rules.importsInto([file], to).length > 0),
    )
    expect(unused).toEqual([])
  })
})

/** A rule that lets everything through would pass above: each gets a file that it must reject. */
describe('every rule rejects', () => {
  const DOC = '/** Holds one thing and does no other. */\n'
  it.each([
    ['a file in no folder', rules.everyFileHasALayer, 'cellar/x.ts', ''],
    ['an import upward', rules.importsPointDown, 'net/x.ts', "import { a } from '../mcp/report.ts'"],
    [
      'an import upward for types',
      rules.importsPointDown,
      'model/x.ts',
      "import type { a } from '../net/refusal.ts'",
    ],
    [
      'an import upward in a type',
      rules.importsPointDown,
      'model/x.ts',
      "type A = import('../net/refusal.ts').A",
    ],
    [
      'an import upward at run time',
      rules.importsPointDown,
      'link/x.ts',
      "await import('../catalog/source.ts')",
    ],
    [
      'the control plane in the data plane',
      rules.importsPointDown,
      'data-plane/http/x.ts',
      "import '../../control-plane/options.ts'",
    ],
    [
      'the data plane in the control plane',
      rules.importsPointDown,
      'control-plane/x.ts',
      "export * from '../data-plane/http/call.ts'",
    ],
    [
      'a stage that knows the transport',
      rules.forbiddenImportsAreAbsent,
      'data-plane/stages/2-identify/x.ts',
      "import '../../http/call.ts'",
    ],
    [
      'a phase that uses another',
      rules.stagesShareThroughOneFolder,
      'data-plane/stages/2-identify/x.ts',
      "import '../3-limit/take-quota.ts'",
    ],
    [
      'an adapter',
      rules.onlyAppImportsAdapters,
      'data-plane/http/x.ts',
      "import '../sessions/redis/store.ts'",
    ],
    ['a file that imports itself', rules.importsHaveNoCycle, 'model/x.ts', "import type { A } from './x.ts'"],
    [
      'a vendor elsewhere',
      rules.vendorsStayInTheirFolder,
      'data-plane/http/x.ts',
      "import { jwtVerify } from 'jose'",
    ],
    [
      'a vendor by require',
      rules.vendorsStayInTheirFolder,
      'net/server/x.ts',
      "createRequire(import.meta.url)('uWebSockets.js')",
    ],
    [
      'an unknown vendor',
      rules.vendorsStayInTheirFolder,
      'data-plane/http/x.ts',
      "import pad from '@left/pad/deep.js'",
    ],
    ['the environment', rules.environmentIsReadInApp, 'net/x.ts', 'const a = process.env.A'],
    [
      'the environment by import',
      rules.environmentIsReadInApp,
      'net/x.ts',
      "import { env as e } from 'node:process'",
    ],
    ['the console', rules.consoleStaysInCommands, 'net/x.ts', "console.error('x')"],
    ['the kernel', rules.foldersAreNotLeft, 'net/x.ts', "import '../../assembly/window.ts'"],
    ['a long file', rules.filesAreShort, 'net/x.ts', '\n'.repeat(400)],
    ['a long test', rules.testsAreShort, 'unit/x.test.ts', '\n'.repeat(600)],
    ['an empty name', rules.namesSayWhatIsInside, 'net/time-utils.ts', ''],
    ['a name in capitals', rules.namesSayWhatIsInside, 'net/timeWindow.ts', ''],
  ] as const)('on %s', (_, rule, path, text) => {
    expect(rule([parseSource(path, DOC + text)])).toHaveLength(1)
  })

  it.each(['import "x"', '// a comment.\n', '/** */ const a = 1.5', '/** No sentence */\n'])(
    'on a file that opens with %j',
    text => {
      expect(rules.filesOpenWithASentence([parseSource('net/x.ts', text)])).toHaveLength(1)
    },
  )

  it('and none on a file that keeps them', () => {
    const text = `#!/usr/bin/env node\n${DOC}import { a } from '../model/plan.ts'\nimport 'node:fs'\n`
    for (const rule of Object.values(rules).filter(
      value => typeof value === 'function' && value.length === 1,
    ))
      if (rule !== rules.placeOf) expect((rule as rules.Rule)([parseSource('net/x.ts', text)])).toEqual([])
  })
})
