/** What is installed and shipped: scripts of dependencies do not run, the SBOM is complete, and licenses are checked. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
// @ts-expect-error a package without types
import { subset } from 'semver'
import { beforeAll, describe, expect, it } from 'vitest'
// @ts-expect-error a script without types
import { findFaults } from '../../scripts/licenses.mjs'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly license?: string
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
  readonly engines?: { readonly node?: string }
}
const packagesOf = (file: string): Readonly<Record<string, Locked>> => JSON.parse(read(file)).packages
const lock = packagesOf('package-lock.json')
const manifest: {
  scripts: Record<string, string>
  dependencies: Record<string, string>
  engines: { node: string }
  devEngines: { runtime: { version: string } }
} = JSON.parse(read('package.json'))

/** Dependencies that declare scripts of installation, and why nothing is missing without them. */
const DECLARE_SCRIPTS: Readonly<Record<string, string>> = {
  'node_modules/@opentelemetry/otlp-transformer/node_modules/protobufjs': 'prints a warning about versions',
  'node_modules/@scarf/scarf': 'reports installations to its vendor',
  'node_modules/bufferutil': 'optional; brings its binaries, and ws works without',
  'node_modules/core-js': 'prints a request for donations',
  'node_modules/esbuild':
    'replaces a launcher by the binary of an optional dependency, which the launcher finds as well',
  'node_modules/utf-8-validate': 'optional; brings its binaries, and ws works without',
}

describe('scripts of installation', () => {
  it('are disabled for npm', () => {
    expect(read('.npmrc')).toMatch(/^ignore-scripts=true$/m)
    const value = execFileSync('npm', ['config', 'get', 'ignore-scripts', '--loglevel=error'], { cwd: ROOT })
    expect(value.toString().trim()).toBe('true')
  })

  it('are declared only by dependencies that were reviewed; a new one is read first, then added with a reason', () => {
    const declaring = Object.entries(lock).filter(([, { hasInstallScript }]) => hasInstallScript === true)
    expect(declaring.map(([path]) => path).toSorted()).toEqual(Object.keys(DECLARE_SCRIPTS).toSorted())
  })

  it('are declared by no dependency that the lock file does not mark', () => {
    const installed = Object.keys(lock).filter(path => path !== '' && existsSync(new URL(path, ROOT)))
    expect(installed.length).toBeGreaterThan(300)
    const unmarked = installed.filter(path => {
      const { scripts = {} } = JSON.parse(read(`${path}/package.json`)) as { scripts?: object }
      return (
        lock[path]!.hasInstallScript !== true &&
        ['preinstall', 'install', 'postinstall'].some(name => name in scripts)
      )
    })
    expect(unmarked).toEqual([])
  })

  it('no script of this package is a hook, because npm does not run hooks then', () => {
    const { scripts } = manifest
    const hooks = Object.keys(scripts).filter(name => {
      const target = /^(?:pre|post)(.+)$/.exec(name)?.[1]
      return target !== undefined && (target in scripts || /^(install|prepare|start|test|pack)$/.test(target))
    })
    expect([
      ...hooks,
      ...Object.keys(scripts).filter(name => name === 'install' || name === 'prepare'),
    ]).toEqual([])
  })
})

/** npm warns of a package that excludes the version of Node, and leaves it out without a word where it is optional. */
describe('the versions of Node that a package declares', () => {
  const { engines, devEngines } = manifest
  const excluding = (file: string, node: string, isConcerned = (_: Locked) => true) =>
    Object.entries(packagesOf(file)).flatMap(([path, locked]) => {
      const declared = locked.engines?.node ?? '*'
      return isConcerned(locked) && !subset(node, declared) ? [`${path}: ${declared}`] : []
    })

  it('include all on which Toolgate runs', () => {
    expect(excluding('package-lock.json', engines.node, ({ dev }) => dev !== true)).toEqual([])
  })

  it('include all with which a clone is built and tested', () => {
    expect(excluding('package-lock.json', devEngines.runtime.version)).toEqual([])
    expect(subset(devEngines.runtime.version, engines.node)).toBe(true)
  })

  it('include them for the site of the pages as well, but for a library without which rollup works', () => {
    expect(excluding('docs/package-lock.json', devEngines.runtime.version)).toEqual([
      'node_modules/@napi-rs/lzma-linux-x64-gnu: ^22.20 || ^24.12 || >=25',
    ])
  })
})

describe('the SBOM', () => {
  const write = () => {
    execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT })
    return JSON.parse(read('dist/sbom.cdx.json'))
  }
  let sbom: ReturnType<typeof write>
  beforeAll(() => {
    sbom = write()
  })

  it('is CycloneDX and lists each production package of the lock file with its hash', () => {
    expect([sbom.bomFormat, sbom.metadata.component.name]).toEqual(['CycloneDX', 'toolgate'])
    const expected = Object.entries(lock).filter(([path, { dev }]) => path !== '' && dev !== true)
    const unlisted = expected.filter(
      ([path, { version, integrity }]) =>
        !sbom.components.some(
          (component: { name: string; version: string; hashes: { content: string }[] }) => {
            const sha512 = Buffer.from(component.hashes[0]!.content, 'hex').toString('base64')
            return (
              component.version === version &&
              integrity === `sha512-${sha512}` &&
              path.includes('node_modules/')
            )
          },
        ),
    )
    expect(unlisted.map(([path]) => path)).toEqual([])
    expect(expected.length).toBeGreaterThan(100)
  })

  it('lists the packages whose code is in the page of the console, with their licenses beside it', () => {
    const dir = mkdtempSync(join(tmpdir(), 'console-'))
    try {
      const options = [
        '-c',
        'console/vite.config.ts',
        '--outDir',
        dir,
        '--emptyOutDir',
        '--logLevel',
        'error',
      ]
      execFileSync('npx', ['vite', 'build', ...options], { cwd: ROOT })
      const [, ...sections] = readFileSync(join(dir, 'licenses.md'), 'utf8').split(/^## /m)
      expect(sections.length).toBeGreaterThan(10)
      const listed = new Map(
        sbom.components.map(
          (component: { 'bom-ref': string; licenses?: { license?: { id?: string } }[] }) => [
            component['bom-ref'],
            component.licenses?.[0]?.license?.id,
          ],
        ),
      )
      for (const section of sections) {
        const [, name, version, license] = /^(\S+) - (\S+) \((.+)\)\n/.exec(section) ?? []
        expect([`${name}@${version}`, listed.get(`${name}@${version}`)]).toEqual([
          `${name}@${version}`,
          license,
        ])
        expect(section, `text of the license of ${name}`).toMatch(/copyright.*permission/is)
      }
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  })

  it('lists neither the test runner nor the formatter nor the compiler, which only development needs', () => {
    const names = sbom.components.map((component: { 'bom-ref': string }) => component['bom-ref'])
    expect(names.filter((name: string) => /^(vitest|@biomejs\/biome|typescript)@/.test(name))).toEqual([])
  })

  it('is the same for the same lock file, except serial number and time', () => {
    const again = write()
    for (const one of [sbom, again]) {
      delete one.serialNumber
      delete one.metadata.timestamp
    }
    expect(again).toEqual(sbom)
  })

  it('names only licenses that are allowed', () => {
    expect(findFaults(sbom.components)).toEqual([])
  })
})

describe('the check of licenses', () => {
  const withLicense = (...licenses: object[]) => findFaults([{ 'bom-ref': 'pad@1.0.0', licenses }])

  it.each([
    ['one that is not in the list', [{ license: { id: 'AGPL-3.0-only' } }], 'AGPL-3.0-only'],
    ['none', [], 'no license declared'],
    [
      'a conjunction with one that is not allowed',
      [{ expression: '(MIT AND GPL-3.0-only)' }],
      'GPL-3.0-only',
    ],
    ['a choice without an allowed one', [{ expression: 'GPL-2.0-only OR LGPL-3.0-only' }], 'LGPL-3.0-only'],
    ['nested parentheses', [{ expression: '(MIT OR ISC) AND (GPL-2.0-only OR ISC)' }], 'GPL-2.0-only'],
    ['one of two licenses', [{ license: { id: 'MIT' } }, { license: { name: 'Custom' } }], 'Custom'],
  ])('rejects %s, with package, license and fix', (_, licenses, named) => {
    const [fault, ...others] = withLicense(...licenses)
    expect(others).toEqual([])
    expect(fault).toMatch(/^pad@1\.0\.0: .*; (read|replace) .* in scripts\/licenses\.mjs$/)
    expect(fault).toContain(named)
  })

  it.each(['(MPL-2.0 OR Apache-2.0)', 'MIT AND Zlib', '(MIT AND Zlib)'])('allows %s', expression => {
    expect(withLicense({ expression })).toEqual([])
  })
})
