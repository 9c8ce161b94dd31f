/** How a bundle is put together from what opa makes and reports. What opa reports is given; the real opa builds in test/integration. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { pack, unpack } from '../../../src/policy/archive.ts'
import { BUNDLE_LIMITS, readBundle } from '../../../src/policy/bundle.ts'
import { type BuildOptions, type Built, buildBundle } from '../../../src/policy/workshop/build.ts'
import { OPA_VERSION } from '../../../src/policy/workshop/opa.ts'
import { readSources, revisionOf, sourcesIn } from '../../../src/policy/workshop/sources.ts'
import { SHIPPED } from '../../fixtures/policy/inputs.ts'

const COMPILED = readFileSync(SHIPPED)
const DECLARED = readBundle(COMPILED).reads.paths

const FILES = {
  'rules/a.rego':
    'package a\n# METADATA\n# custom:\n#  reason_code: a\ndeny contains "a" if input.context.arguments.x\n',
  'rules/b.rego':
    'package b\n# input.context.arguments.x\n\t# context.arguments\ndeny contains "b" if true\n',
  'rules/c.rego': 'package c\ndeny contains "c" if input.context["arguments"].x\n',
  'rules/a_test.rego': 'package a_test\n',
}
const part = (value: string, type = 'string') => ({ type, value })
const read = (...path: string[]) => [part('input', 'var'), ...path.map(name => part(name))]
const rule = (file: string, code: string) => ({
  annotations: { scope: 'rule', title: `Rule ${code}`, custom: { reason_code: code } },
  location: { file, row: 2 },
  path: [part('data'), part('deny')],
})

let dir: string
let work: string
let calls: string[][]
let deps: unknown
let rules: object[]
let residue: unknown
let failing: string | undefined
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'build-'))
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  calls = []
  deps = {}
  rules = []
  residue = undefined
  failing = undefined
})
afterEach(() => rmSync(dir, { recursive: true }))

const build = (more: Partial<BuildOptions> = {}): Promise<Built> =>
  buildBundle({
    dir,
    opa: 'opa',
    env: {},
    trial: async () => undefined,
    async run(cwd, args) {
      const command = args[0]!
      calls.push([...args])
      if (command === failing) return { exitCode: 2, stdout: 'out ', stderr: ' err\n' }
      if (command === 'build') {
        work = dirname(args.at(-1)!)
        expect(readSources(cwd)).toEqual(readSources(dir))
        writeFileSync(args.at(-1)!, COMPILED)
      }
      if (command === 'sign') {
        expect(readFileSync(join(cwd, 'policy.wasm')).byteLength).toBeGreaterThan(1000)
        writeFileSync(join(cwd, '.signatures.json'), `signed ${readdirSync(cwd).sort().join()}`)
      }
      const output = { deps, inspect: { annotations: rules }, eval: { partial: residue } }[command]
      return { exitCode: 0, stdout: JSON.stringify(output ?? {}), stderr: '' }
    },
    ...more,
  })

describe('a bundle', () => {
  it('holds what serving needs, its sources with their tests, its revision, and what was found out', async () => {
    rules = [
      rule('rules/a.rego', 'a'),
      rule('rules/b.rego', 'b'),
      rule('rules/c.rego', 'c'),
      rule('gone.rego', 'd'),
    ]
    const [first, second] = DECLARED.toSorted()
    deps = { base: [second!, first!, first!].map(path => read(...path.split('.'))) }
    const built = await build()
    const files = unpack(built.archive, BUNDLE_LIMITS)
    expect([...files.keys()].sort()).toEqual(['.manifest', 'data.json', 'policy.wasm', 'sources.json'])
    expect(sourcesIn(built.archive)).toEqual(FILES)
    const bundle = readBundle(built.archive)
    expect(built.revision).toBe(revisionOf(readSources(dir)))
    expect(bundle.revision).toBe(built.revision)
    expect(bundle.readsFound?.paths).toEqual([first, second])
    expect(bundle.rules.map(({ code, readsArguments }) => [code, readsArguments ?? false])).toEqual([
      ['a', true],
      ['b', false],
      ['c', true],
      ['d', false],
    ])
    expect([built.reads, built.cacheable]).toEqual([DECLARED, true])
    const { metadata } = JSON.parse(Buffer.from(files.get('.manifest')!).toString())
    expect(metadata.toolgate.opa).toBe(OPA_VERSION)
    expect(existsSync(work)).toBe(false)
  })

  it('is made by opa from a copy of the sources', async () => {
    await build()
    expect(calls.slice(0, 3)).toEqual([
      ['build', '-t', 'wasm', '-b', '.', '-o', join(work, 'bundle.tar.gz')],
      ['deps', '-f', 'json', '-d', '.', 'data.toolgate.decision'],
      ['inspect', '-a', '-f', 'json', '.'],
    ])
    expect(calls.some(([command]) => command === 'sign')).toBe(false)
  })

  it('is not made of a folder without policies', async () => {
    rmSync(join(dir, 'rules'), { recursive: true })
    await expect(build()).rejects.toThrow(`${dir} contains no policies`)
    expect(calls).toEqual([])
  })

  it.each(['build', 'deps', 'inspect'])('is refused with what opa %s says', async command => {
    failing = command
    await expect(build()).rejects.toThrow(`opa ${command} says:\nout \n err`)
    expect(existsSync(work)).toBe(false)
  })

  it('is refused with every rule that can never deny', async () => {
    rules = [rule('rules/a.rego', 'a'), rule('rules/b.rego', 'b')]
    residue = {}
    await expect(build()).rejects.toThrow(
      /^rules\/a\.rego:2 can never deny: .*\nrules\/b\.rego:2 can never deny: /,
    )
  })

  it('is refused when no gateway could load it', async () => {
    let tried: Uint8Array | undefined
    const trial = async (bundle: Uint8Array) => {
      tried = bundle
      throw new Error('it does not load')
    }
    await expect(build({ trial })).rejects.toThrow('it does not load')
    expect(readBundle(tried!).revision).toBe(revisionOf(readSources(dir)))
  })
})

describe('what a bundle reads', () => {
  it('is refused where it is not declared: each path, up to the first variable', async () => {
    deps = {
      base: [
        [...read('context', 'arguments'), part('name', 'var'), part('deep')],
        read('context', 'plan'),
        [part('data', 'var'), part('other')],
        [],
      ],
    }
    await expect(build()).rejects.toThrow(
      'The entrypoint "toolgate/decision" reads input fields that it does not declare. Add these fields to custom.reads in the METADATA of the entrypoint:\n  - context.arguments\n  - context.plan',
    )
  })

  it('is refused when it is all of the input', async () => {
    deps = { base: [read()] }
    await expect(build()).rejects.toThrow('METADATA of the entrypoint:\n  - "" # all of input')
  })
})

describe('a signature', () => {
  it.each([undefined, 'ES256'])(
    'is made of all files (algorithm %s), and is part of the bundle',
    async algorithm => {
      const more = algorithm === undefined ? {} : { signingAlgorithm: algorithm }
      const { archive } = await build({ signingKey: 'key.pem', ...more })
      expect(calls.at(-1)).toEqual([
        'sign',
        '--signing-key',
        resolve('key.pem'),
        '--signing-alg',
        algorithm ?? 'RS256',
        '--bundle',
        '.',
      ])
      const files = unpack(archive, BUNDLE_LIMITS)
      expect(Buffer.from(files.get('.signatures.json')!).toString()).toBe(
        'signed .manifest,data.json,policy.wasm,sources.json',
      )
      expect(pack(files).equals(archive)).toBe(true)
    },
  )
})
