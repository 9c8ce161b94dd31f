/** Recorded decisions: which are kept, what is masked, how one is found in memory or in files, and how flips are counted. */
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Decision } from '../../../../src/policy/engine.ts'
import { entryOf, type KeepArguments } from '../../../../src/policy/log/entry.ts'
import { findDecision } from '../../../../src/policy/log/find.ts'
import { countFlip, type FlipKinds, sortedFlips } from '../../../../src/policy/log/flips.ts'
import { filesOf, parseLine } from '../../../../src/policy/log/reader.ts'
import { recordedPolicy } from '../../../../src/policy/log/recorded-policy.ts'
import { DecisionRecorder, type RecorderOptions } from '../../../../src/policy/log/recorder.ts'
import { newestDecisions } from '../../../../src/policy/log/search.ts'
import { lastDecisions } from '../../../../src/policy/log/tail.ts'
import { createDecisionLog } from '../../../../src/policy/log/writer.ts'
import { aPolicy } from '../../../fixtures/exchange.ts'
import { failing, failingPromise } from '../../../fixtures/failing-disk.ts'
import { inputOf } from '../../../fixtures/policy/inputs.ts'

const ALLOWED: Decision = { allow: true, reasons: [], revision: 'r' }
const DENIED: Decision = { allow: false, reasons: [{ code: 'closed', message: 'x' }], revision: 'r' }

/** Longer than what is kept of a text. */
const LONG = 'x'.repeat(5_000)

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'recorder-'))
})
afterEach(() => rmSync(dir, { recursive: true }))

const recorder = (options: Partial<RecorderOptions> = {}) =>
  new DecisionRecorder({ log: undefined, dir, sampleAllowed: 0, keepArguments: 'masked', ...options })

describe('what is kept', () => {
  const kept = (options: Partial<RecorderOptions>, decision: Decision) =>
    recorder(options).recordDecision(inputOf(), decision, 1) !== undefined

  it('is every denial, and of the allowed decisions the share that is set', () => {
    expect(kept({ sampleAllowed: 0, random: () => 0 }, DENIED)).toBe(true)
    expect(kept({ sampleAllowed: 0, random: () => 0 }, ALLOWED)).toBe(false)
    expect(kept({ sampleAllowed: 1, random: () => 1 }, ALLOWED)).toBe(true)
    expect([0.49, 0.5].map(x => kept({ sampleAllowed: 0.5, random: () => x }, ALLOWED))).toEqual([
      true,
      false,
    ])
    const random = recorder({ sampleAllowed: 0.5 })
    const ids = Array.from({ length: 200 }, () => random.recordDecision(inputOf(), ALLOWED, 1))
    expect(ids.filter(id => id === undefined).length).toBeGreaterThan(20)
    expect(ids.filter(id => id !== undefined).length).toBeGreaterThan(20)
  })

  it('is also what the policy obliges to log', () => {
    const obliged = (log: unknown) => kept({}, { ...ALLOWED, obligations: { log } } as Decision)
    expect([true, {}, false, undefined].map(obliged)).toEqual([true, true, false, false])
  })

  it('reaches the other observer whether it is kept or not', () => {
    const seen: boolean[] = []
    const both = recorder({ also: (_, decision) => seen.push(decision.allow) })
    both.recordDecision(inputOf(), ALLOWED, 1)
    both.recordDecision(inputOf(), DENIED, 1)
    expect(seen).toEqual([true, false])
  })

  it.each<[KeepArguments, unknown, unknown, boolean | undefined]>([
    ['all', { n: LONG }, { sure: 'yes' }, undefined],
    ['masked', { n: '[masked]' }, undefined, true],
    ['none', undefined, undefined, true],
  ])('of arguments and client results %s', (keep, args, answers, masked) => {
    const context = { arguments: { n: LONG }, answers: { sure: 'yes' } } as never
    const entry = entryOf('i', 1, inputOf({ context }), DENIED, keep)
    expect([entry.input.context.arguments, entry.input.context.answers, entry.masked]).toEqual([
      args,
      answers,
      masked,
    ])
    const only = entryOf('i', 1, inputOf({ context: { answers: { sure: 'yes' } } as never }), DENIED, keep)
    expect(only.masked).toBe(masked)
    expect('arguments' in only.input.context).toBe(false)
  })
})

describe('arguments that are masked', () => {
  const masked = (given: { readonly [name: string]: unknown }) =>
    entryOf('i', 1, inputOf({ context: { arguments: given } }), DENIED, 'masked').input.context.arguments!

  it('keep texts of 256 characters, and nothing of longer ones', () => {
    const [kept, longer] = ['x'.repeat(256), 'x'.repeat(257)]
    expect(masked({ kept, longer, none: null, n: 1, pin: 1234 })).toEqual({
      kept,
      longer: '[masked]',
      none: null,
      n: 1,
      pin: '[masked]',
    })
  })

  it.each([
    'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln',
    'tgk_4fK0aZ9q_0123456789abcdef0123456789abcdef',
    'sk_live_4eC39HqLyjWDarjtT1zdp7dc',
    'the key is sk_live_4eC39HqLyjWDarjtT1zdp7dc, keep it',
    'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
    'AKIAIOSFODNN7EXAMPLE',
    'Bearer abcdefghijkl',
    '-----BEGIN RSA PRIVATE KEY-----',
    '4111 1111 1111 1111',
    '5500-0055-5555-5559',
    'pay with 378282246310005 please',
    4111111111111111,
    'ada@example.com',
    'Ada <ada.l+x@mail.example.co.uk>',
    'q8Zr2LxV0tYw7NbKc4Hd9PsF',
    '9f86d081884c7d659a2feaa0c55ad015',
  ])('do not keep %s, in whatever argument, item or name', secret => {
    expect(masked({ note: secret, list: [{ note: secret }] })).toEqual({
      note: '[masked]',
      list: [{ note: '[masked]' }],
    })
    if (typeof secret === 'string') expect(JSON.stringify(masked({ [secret]: 1 }))).not.toContain(secret)
  })

  it.each([
    'two chairs, oak, delivered on 2026-03-01',
    'customer K-1234567890123456',
    '4111 1111 1111 1112',
    '019a3c5e-7b1d-7c44-9d2e-1f2a3b4c5d6e',
    'https://shop.example/products/oak-chair-with-arms',
    'internationalization-of-products',
    1795329207000,
    42,
  ])('keep %s', plain => {
    expect(masked({ note: plain })).toEqual({ note: plain })
  })

  it('do not keep what the schema of the tool marks, at any depth', () => {
    const schema = {
      properties: {
        code: { type: 'string', format: 'password' },
        person: { $ref: '#/$defs/Person' },
        answers: { type: 'array', items: { type: 'string', writeOnly: true } },
      },
      $defs: { Person: { properties: { born: { type: 'string', 'x-sensitive': true } } } },
    }
    const given = { code: 'abc', person: { born: '1815-12-10', city: 'London' }, answers: ['a'], open: 'yes' }
    const kept = entryOf('i', 1, inputOf({ context: { arguments: given } }), DENIED, 'masked', schema)
    expect(kept.input.context.arguments).toEqual({
      code: '[masked]',
      person: { born: '[masked]', city: 'London' },
      answers: '[masked]',
      open: 'yes',
    })
    expect(kept.masked).toBe(true)
  })

  it.each([
    ['additionalProperties', { additionalProperties: { type: 'string', format: 'password' } }],
    ['patternProperties', { patternProperties: { '^x': { writeOnly: true } } }],
    ['a reference for all other names', { additionalProperties: { $ref: '#/$defs/Code' } }],
    ['a schema that cannot be found', { additionalProperties: { $ref: '#/$defs/None' } }],
  ])('do not keep names without a schema when these are marked by %s', (_, rest) => {
    const schema = {
      properties: { open: { type: 'string' } },
      $defs: { Code: { format: 'password' } },
      ...rest,
    }
    const given = { open: 'yes', xother: 'abc' }
    const kept = entryOf('i', 1, inputOf({ context: { arguments: given } }), DENIED, 'masked', schema)
    expect(kept.input.context.arguments).toEqual({ open: 'yes', xother: '[masked]' })
  })

  it('keep names without a schema when only a definition that nothing uses is marked', () => {
    const schema = { properties: { open: {} }, $defs: { Code: { format: 'password' } } }
    const given = { open: 'yes', other: 'abc' }
    const kept = entryOf('i', 1, inputOf({ context: { arguments: given } }), DENIED, 'masked', schema)
    expect(kept.input.context.arguments).toEqual(given)
  })

  it('do not keep what a reference leads to a marked schema for, however it is written', () => {
    const schema = {
      $defs: {
        Code: { type: 'string', format: 'password' },
        'a b/c~d': { type: 'string', writeOnly: true },
        Chain: { $ref: '#/$defs/Code' },
        Circle: { anyOf: [{ $ref: '#/$defs/Circle' }, { $ref: '#/$defs/Open' }] },
        Open: { type: 'string', maxLength: 9 },
        Node: { properties: { next: { $ref: '#/$defs/Node' }, born: { $ref: '#/$defs/Code' } } },
      },
      properties: {
        plain: { $ref: '#/$defs/Code' },
        escaped: { $ref: '#/$defs/a%20b~1c~0d' },
        chain: { $ref: '#/$defs/Chain' },
        all: { allOf: [{ maxLength: 9 }, { $ref: '#/$defs/Code' }] },
        any: { anyOf: [{ $ref: '#/$defs/Open' }, { oneOf: [{ $ref: '#/$defs/Code' }] }] },
        items: { type: 'array', items: { $ref: '#/$defs/Code' } },
        node: { $ref: '#/$defs/Node' },
        circle: { $ref: '#/$defs/Circle' },
        open: { $ref: '#/$defs/Open' },
        // these lead to nothing that can be found
        anchored: { $ref: '#secret' },
        missing: { $ref: '#/$defs/None' },
      },
    }
    const names = Object.keys(schema.properties).filter(name => name !== 'node')
    const given = {
      ...Object.fromEntries(names.map(name => [name, 'abc'])),
      node: { next: { next: { born: 'abc', city: 'London' } } },
    }
    const kept = entryOf('i', 1, inputOf({ context: { arguments: given } }), DENIED, 'masked', schema)
    expect(kept.input.context.arguments).toEqual({
      ...Object.fromEntries(names.map(name => [name, '[masked]'])),
      circle: 'abc',
      open: 'abc',
      node: { next: { next: { born: '[masked]', city: 'London' } } },
    })
  })

  it('do not keep properties of a schema with more references than are followed', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 150 }, (_, at) => [`p${at}`, { $ref: '#/$defs/Wide' }]),
    )
    const wide = Array.from({ length: 200 }, () => ({ maxLength: 9 }))
    const schema = { $defs: { Wide: { anyOf: [...wide, { format: 'password' }] } }, properties }
    const given = Object.fromEntries(Object.keys(properties).map(name => [name, 'abc']))
    const kept = entryOf('i', 1, inputOf({ context: { arguments: given } }), DENIED, 'masked', schema)
    expect(new Set(Object.values(kept.input.context.arguments!))).toEqual(new Set(['[masked]']))
  })

  it('keep only allowed names in that mode, and these without what is masked in any case', () => {
    const given = { city: 'London', name: 'Ada', lines: [{ sku: 'a', note: 'b' }], mail: 'ada@example.com' }
    const allowed = new Set(['city', 'lines', 'sku', 'mail'])
    const kept = entryOf('i', 1, inputOf({ context: { arguments: given } }), DENIED, allowed)
    expect(kept.input.context.arguments).toEqual({
      city: 'London',
      name: '[masked]',
      lines: [{ sku: 'a', note: '[masked]' }],
      mail: '[masked]',
    })
  })

  it('keep two hundred fields and items in all', () => {
    const items = (count: number): number[] => Array.from({ length: count }, () => 1)
    const fields = (count: number) => Object.fromEntries(items(count).map((one, at) => [`f${at}`, one]))
    for (const part of [items, fields]) {
      expect(masked({ a: part(199) }).a).toEqual(part(199))
      expect(masked({ a: part(200) }).a).toBe('[masked]')
      expect(masked({ a: part(100), b: part(98) }).b).toEqual(part(98))
      expect(masked({ a: part(100), b: part(99) })).toEqual({ a: part(100), b: '[masked]' })
    }
  })
})

describe('what was kept', () => {
  it('is found in memory: the last five hundred, newest first', async () => {
    const memory = recorder()
    expect(memory.recent(5)).toEqual([])
    const ids = Array.from({ length: 510 }, (_, at) => memory.recordDecision(inputOf(), DENIED, at)!)
    expect(memory.recent(3).map(entry => entry.at)).toEqual([509, 508, 507])
    expect(memory.recent(1000)).toHaveLength(500)
    expect((await memory.find(ids.at(-1)!))?.at).toBe(509)
    expect(await memory.find(ids[0]!)).toBeUndefined()
  })

  it('is found in the log after it has left the memory', async () => {
    const log = createDecisionLog({ dir })
    const both = recorder({ log })
    const ids = Array.from({ length: 510 }, (_, at) => both.recordDecision(inputOf(), DENIED, at)!)
    expect((await both.find(ids[0]!))?.at).toBe(0)
    expect(await both.find('unknown')).toBeUndefined()
    await log.close()
  })

  it('is found wherever it stands in the files, newest file first', async () => {
    const line = (id: string, at: number) =>
      `${JSON.stringify(entryOf(id, at, inputOf(), DENIED, 'masked'))}\n`
    const filler = line('filler', 0)
    writeFileSync(join(dir, 'decisions.1.ndjson'), line('both', 1) + line('old', 2))
    const lines = Math.ceil((2.5 * 1024 * 1024) / filler.length)
    writeFileSync(join(dir, 'decisions.ndjson'), line('first', 3) + filler.repeat(lines) + line('both', 4))
    appendFileSync(join(dir, 'decisions.ndjson'), line('last', 5).trimEnd())
    for (const [id, at] of [
      ['first', 3],
      ['both', 4],
      ['last', 5],
      ['old', 2],
    ] as const)
      expect((await findDecision(dir, id))?.at).toBe(at)
    expect(await findDecision(dir, 'las')).toBeUndefined()
    expect(await findDecision(join(dir, 'none'), 'last')).toBeUndefined()
    expect((await findDecision(join(dir, 'decisions.1.ndjson'), 'both'))?.at).toBe(1)
    // no beginning of a line is missed where one chunk ends and the next begins
    for (let shift = 0; shift < 40; shift += 3) {
      const pad = `${'x'.repeat(1024 * 1024 - shift)}\n`
      writeFileSync(join(dir, 'shifted.ndjson'), pad + line('cut', 6))
      expect((await findDecision(join(dir, 'shifted.ndjson'), 'cut'))?.at).toBe(6)
    }
  })

  it('is not missing because the log cannot be read', async () => {
    const line = `${JSON.stringify(entryOf('only', 1, inputOf(), DENIED, 'masked'))}\n`
    writeFileSync(join(dir, 'decisions.ndjson'), line)
    for (const fail of [
      () => failingPromise('open', 'EACCES', path => String(path).startsWith(dir)),
      () => failing('readdirSync', 'EIO', path => path === dir),
    ]) {
      const end = fail()
      try {
        await expect(findDecision(dir, 'only')).rejects.toThrow(/EACCES|EIO/)
      } finally {
        end()
      }
    }
    expect((await findDecision(dir, 'only'))?.at).toBe(1)
  })

  it('is read from the end of the log, oldest first', () => {
    const line = (at: number) => `${JSON.stringify(entryOf(`id-${at}`, at, inputOf(), DENIED, 'masked'))}\n`
    writeFileSync(join(dir, 'decisions.1.ndjson'), line(1) + line(2))
    writeFileSync(join(dir, 'decisions.ndjson'), line(3) + line(4) + line(5))
    const last = (count: number) => lastDecisions(dir, count).map(entry => entry.at)
    expect([last(1), last(3), last(4), last(9)]).toEqual([[5], [3, 4, 5], [2, 3, 4, 5], [1, 2, 3, 4, 5]])
    expect(lastDecisions(join(dir, 'none'), 3)).toEqual([])
    expect(lastDecisions(join(dir, 'decisions.1.ndjson'), 9)).toHaveLength(2)
    // a file larger than what is read begins in the middle of a line
    writeFileSync(join(dir, 'decisions.ndjson'), `${line(6)}${'x'.repeat(9 * 1024 * 1024)}\n${line(7)}`)
    expect(lastDecisions(join(dir, 'decisions.ndjson'), 9).map(entry => entry.at)).toEqual([7])
  })

  it('is read from the ends of the files of all threads, in the order of time', () => {
    const lines = (...times: number[]) =>
      times.map(at => `${JSON.stringify(entryOf(`id-${at}`, at, inputOf(), DENIED, 'masked'))}\n`).join('')
    writeFileSync(join(dir, 'decisions.ndjson'), lines(1, 4, 9))
    writeFileSync(join(dir, 'decisions-1.1.ndjson'), lines(2, 3, 6))
    writeFileSync(join(dir, 'decisions-1.ndjson'), lines(7, 10))
    writeFileSync(join(dir, 'decisions-2.ndjson'), lines(5, 8))
    const last = (count: number) => lastDecisions(dir, count).map(entry => entry.at)
    expect(last(2)).toEqual([9, 10])
    expect(last(5)).toEqual([6, 7, 8, 9, 10])
    expect(last(99)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  /** Links to the open files of a process. */
  const OPEN_FILES = '/proc/self/fd'
  it.skipIf(!existsSync(OPEN_FILES))('is searched in a file that is deleted once it is open', async () => {
    const file = join(realpathSync(dir), 'decisions.ndjson')
    writeFileSync(file, `${JSON.stringify(entryOf('i', 1, inputOf(), DENIED, 'masked'))}\n`)
    const isOpen = () =>
      readdirSync(OPEN_FILES).some(name => {
        try {
          return readlinkSync(join(OPEN_FILES, name)) === file
        } catch {
          return false
        }
      })
    const first = newestDecisions(dir).next()
    // the pool of libuv opens the file while this thread waits: what follows the opening runs after the deletion
    const endMs = performance.now() + 30_000
    while (!isOpen()) if (performance.now() > endMs) throw new Error('the file was not opened')
    rmSync(file)
    expect((await first).value).toMatchObject({ id: 'i' })
  })

  it('has to be a whole entry', () => {
    const entry = entryOf('i', 1, inputOf(), DENIED, 'masked')
    expect(parseLine(JSON.stringify(entry))).toEqual(entry)
    const { subject, resource, context, action } = entry.input
    for (const damaged of [
      null,
      { ...entry, id: 1 },
      { ...entry, allow: 'no' },
      { ...entry, input: undefined },
      { ...entry, input: { subject, resource, context } },
      { ...entry, input: { subject, resource, action } },
      { ...entry, input: { subject, context, action } },
      { ...entry, input: { subject, resource: {}, context, action } },
      { ...entry, input: { subject: {}, resource, context, action } },
      { ...entry, input: { resource, context, action } },
    ])
      expect([damaged, parseLine(JSON.stringify(damaged))]).toEqual([damaged, undefined])
    expect(parseLine('{"id":')).toBeUndefined()
  })

  it('is in files that are named as such, or in none', () => {
    expect(() => filesOf(join(dir, 'none'))).toThrow(/no decision log was written there/)
    writeFileSync(join(dir, 'other.ndjson'), '')
    expect(() => filesOf(dir)).toThrow(/contains no decision log/)
    expect(filesOf(join(dir, 'other.ndjson'))).toEqual([join(dir, 'other.ndjson')])
    for (const name of [
      'decisions.ndjson',
      'decisions.10.ndjson',
      'decisions-2.9.ndjson',
      'decisions.ndjson.bak',
    ])
      writeFileSync(join(dir, name), '')
    expect(filesOf(dir)).toEqual(
      ['decisions.10.ndjson', 'decisions-2.9.ndjson', 'decisions.ndjson'].map(name => join(dir, name)),
    )
  })
})

describe('a recorded policy', () => {
  it.each([
    ['at once', () => ({ allow: false })],
    ['later', async () => ({ allow: false })],
  ])('decides as the policy does, %s, and reports it', async (_, decide) => {
    const seen: unknown[] = []
    let closed = false
    const policy = { ...aPolicy(decide), cached: 3, clearCache: () => 3, close: () => (closed = true) }
    const recorded = recordedPolicy(policy as never, {
      recordDecision(input, decision, atMs) {
        seen.push([input.resource.id, decision.allow, atMs])
        return undefined
      },
    })
    const decision = recorded.decide(inputOf(), 'k', 0)
    expect(decision instanceof Promise).toBe(policy.decide(inputOf(), 'k', 0) instanceof Promise)
    expect(await decision).toMatchObject({ allow: false })
    expect(seen).toEqual([['get_order', false, inputOf().context.time]])
    expect([recorded.engine, recorded.revision, recorded.cached, recorded.clearCache()]).toEqual([
      'opa-wasm',
      'test',
      3,
      3,
    ])
    recorded.close()
    expect(closed).toBe(true)
  })
})

describe('flips', () => {
  it('beyond the number of kinds are counted together, with three examples each', () => {
    const kinds: FlipKinds = new Map()
    const reasons = ['b', 'a', 'b'].map(code => ({ code, message: code }))
    for (let at = 0; at < 5; at++)
      countFlip(kinds, 1, { id: `id-${at}`, input: inputOf() }, ALLOWED, { allow: false, reasons })
    for (let at = 0; at < 2; at++)
      countFlip(kinds, 1, { id: '', input: inputOf({ id: `tool-${at}` }) }, DENIED, ALLOWED)
    for (let at = 0; at < 9; at++)
      countFlip(kinds, 1, { id: 'x', input: inputOf({ id: 'z' }) }, ALLOWED, DENIED)
    expect(
      sortedFlips(kinds).map(({ count, rule, resource, direction, examples }) => [
        count,
        rule,
        resource,
        direction,
        examples,
      ]),
    ).toEqual([
      [9, '…', '…', 'allow→deny', ['x']],
      [5, 'a+b', 'get_order', 'allow→deny', ['id-0', 'id-1', 'id-2']],
      [2, '…', '…', 'deny→allow', []],
    ])
  })
})
