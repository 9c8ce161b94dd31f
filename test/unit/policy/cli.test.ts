/** `toolgate policy`: what it prints, and the exit codes that scripts rely on. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { policy } from '../../../src/cli/policy.ts'
import { inputOf, SHIPPED } from '../../fixtures/policy/inputs.ts'

const BUNDLE = fileURLToPath(SHIPPED)
let dir = ''
let out = ''
let err = ''

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'policy-cli-'))
  out = err = ''
  vi.spyOn(process.stdout, 'write').mockImplementation(text => {
    out += String(text)
    return true
  })
  vi.spyOn(process.stderr, 'write').mockImplementation(text => {
    err += String(text)
    return true
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(dir, { recursive: true })
})

function inputFile(content: unknown): string {
  const file = join(dir, 'input.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

describe('toolgate policy', () => {
  it('prints its help', async () => {
    expect(await policy(['--help'])).toBe(0)
    expect(out).toContain('Usage: toolgate policy COMMAND')
    expect(await policy(['eval', '-h'])).toBe(0)
  })

  it.each([[[]], [['fly']], [['eval', '--wings']], [['eval', 'twice', 'thrice']]])(
    '%j is a fault of usage',
    async args => {
      expect(await policy(args)).toBe(64)
      expect(err).toContain('Usage: toolgate policy COMMAND')
    },
  )
})

describe('toolgate policy eval', () => {
  it('allows with 0', async () => {
    expect(await policy(['eval', '--bundle', BUNDLE, '--input', inputFile(inputOf())])).toBe(0)
    expect(out).toMatch(/^allowed by revision [0-9a-f]{32}\n$/)
  })

  it('denies with 1 and says why', async () => {
    const input = inputFile(inputOf({ caller: { scopes: ['read'] } }))
    expect(await policy(['eval', '--bundle', BUNDLE, '--input', input])).toBe(1)
    expect(out).toContain('insufficient_scope: This needs the scope execute. [execute]')
  })

  it('prints the decision as JSON', async () => {
    await policy(['eval', '--json', '--bundle', BUNDLE, '--input', inputFile(inputOf())])
    expect(JSON.parse(out)).toMatchObject({ allow: true, reasons: [] })
  })

  it.each<[string, unknown, string]>([
    ['is no JSON', '{', 'the input is no JSON'],
    ['is no object', 'null', 'lacks the object "subject"'],
    [
      'lacks a part',
      { subject: { properties: {} }, action: {}, resource: {} },
      'lacks the object "resource.properties"',
    ],
  ])('says when the input %s', async (_, content, message) => {
    expect(await policy(['eval', '--bundle', BUNDLE, '--input', inputFile(content)])).toBe(1)
    expect(err).toContain(message)
  })

  it('says when there is no bundle', async () => {
    expect(await policy(['eval', '--bundle', join(dir, 'none'), '--input', inputFile(inputOf())])).toBe(1)
    expect(err).toContain('ENOENT')
  })
})
