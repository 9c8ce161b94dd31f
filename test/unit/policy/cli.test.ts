/** `toolgate policy`: what it prints, and the exit codes that scripts rely on. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runCommand } from '../../../src/app/cli/program.ts'
import { readBundle } from '../../../src/policy/bundle.ts'
import { createDecisionLog } from '../../../src/policy/log/writer.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { altered, inputOf, SHIPPED } from '../../fixtures/policy/inputs.ts'

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

describe('toolgate policy eval', () => {
  it('allows with 0', async () => {
    expect(await runCommand(['policy', 'eval', '--bundle', BUNDLE, '--input', inputFile(inputOf())])).toBe(0)
    expect(out).toMatch(/^allowed by revision [0-9a-f]{32}\n$/)
  })

  it('denies with 1 and says why', async () => {
    const input = inputFile(inputOf({ caller: { scopes: ['read'] } }))
    expect(await runCommand(['policy', 'eval', '--bundle', BUNDLE, '--input', input])).toBe(1)
    expect(out).toContain('insufficient_scope: The request needs the scope execute.')
    expect(out).toMatch(/toolgate\/rules\/scope\/scope\.rego:\d+ A scope is missing/)
    expect(out).toContain('would be allowed with the additional scopes: execute')
  })

  it('prints the decision as JSON', async () => {
    await runCommand(['policy', 'eval', '--json', '--bundle', BUNDLE, '--input', inputFile(inputOf())])
    expect(JSON.parse(out)).toMatchObject({ allow: true, reasons: [] })
  })

  it.each<[string, unknown, string]>([
    ['is not JSON', '{', 'the policy input is not valid JSON'],
    ['is not an object', 'null', 'has no object "subject"'],
    [
      'lacks a part',
      { subject: { properties: {} }, action: {}, resource: {} },
      'has no object "resource.properties"',
    ],
  ])('says when the input %s', async (_, content, message) => {
    expect(await runCommand(['policy', 'eval', '--bundle', BUNDLE, '--input', inputFile(content)])).toBe(1)
    expect(err).toContain(message)
  })

  it('says when there is no bundle', async () => {
    expect(
      await runCommand(['policy', 'eval', '--bundle', join(dir, 'none'), '--input', inputFile(inputOf())]),
    ).toBe(1)
    expect(err).toContain('ENOENT')
  })
})

describe('toolgate policy with a decision log', () => {
  /** Two decisions: one allowed, one denied, of a caller that has `execute`. */
  async function logged(): Promise<string> {
    const prepared = await createOpaWasmEngine({ maxEvaluationMs: 1000 }).prepare(readFileSync(SHIPPED))
    const log = createDecisionLog({ dir })
    const denied = inputOf({ resource: { annotations: { readOnlyHint: false, destructiveHint: true } } })
    log.record('good', 0, inputOf(), await prepared.decide(inputOf(), 'caller', 1))
    log.record('bad', 0, denied, await prepared.decide(denied, 'caller', 2))
    await log.close()
    return dir
  }

  /** The shipped policy with `tools.call` for admins only. */
  function stricter(): string {
    const { data } = readBundle(readFileSync(SHIPPED)) as { data: { toolgate: { operations: object } } }
    const operations = { ...data.toolgate.operations, 'tools.call': { all: ['admin'] } }
    const file = join(dir, 'candidate.tar.gz')
    writeFileSync(
      file,
      altered({ 'data.json': JSON.stringify({ toolgate: { ...data.toolgate, operations } }) }),
    )
    return file
  }

  it('explains a decision by its id', async () => {
    expect(await runCommand(['policy', 'explain', 'bad', '--bundle', BUNDLE, '--log', await logged()])).toBe(
      1,
    )
    expect(out).toContain('id: bad')
    expect(out).toContain('would be allowed with the additional scopes: write')
    expect(await runCommand(['policy', 'explain', 'none', '--bundle', BUNDLE, '--log', dir])).toBe(1)
    expect(err).toContain('has no decision "none". Set --log to')
  })

  it('replays without flips', async () => {
    expect(await runCommand(['policy', 'replay', '--bundle', BUNDLE, '--log', await logged()])).toBe(0)
    expect(out).toContain('0 of 2 decisions differ from the log')
  })

  it('shows what a candidate would flip, and refuses more flips than allowed', async () => {
    const asked = ['diff', stricter(), '--bundle', BUNDLE, '--log', await logged()]
    expect(await runCommand(['policy', ...asked])).toBe(1)
    expect(out).toMatch(/allow→deny +1 × insufficient_scope tools\.call get_order by demo-agent \(good\)/)
    expect(await runCommand(['policy', ...asked, '--max-flips', '1'])).toBe(0)
    out = ''
    expect(await runCommand(['policy', ...asked, '--json'])).toBe(1)
    expect(JSON.parse(out)).toMatchObject({ total: 2, flipped: 1 })
  })
})
