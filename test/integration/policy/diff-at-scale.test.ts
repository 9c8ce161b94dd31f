/** `toolgate policy diff` on a recorded log of 100,000 decisions: within 20 s, and exactly the flips of a seeded change. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { readBundle } from '../../../src/policy/bundle.ts'
import type { Flip } from '../../../src/policy/log/flips.ts'
import { DecisionRecorder } from '../../../src/policy/log/recorder.ts'
import { createDecisionLog } from '../../../src/policy/log/writer.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { runToolgate } from '../../fixtures/command.ts'
import { altered, inputOf, SHIPPED } from '../../fixtures/policy/inputs.ts'

const DECISIONS = 100_000
const dir = mkdtempSync(join(tmpdir(), 'policy-diff-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Park and Miller's generator: the same log on every machine. */
let seed = 42
const below = (n: number): number => {
  seed = (seed * 48_271) % 2_147_483_647
  return seed % n
}
const ROLES = [[], ['viewer'], ['devops'], ['tenant-admin'], ['viewer', 'devops']]
const SCOPES = [[], ['read'], ['execute'], ['read', 'execute']]
const ACTIONS = ['tools.call', 'tools.list', 'control.apis.list', 'control.subscriptions.approve']

it('names them, no more and no less', { timeout: 120_000 }, async () => {
  const live = await createOpaWasmEngine({ maxEvaluationMs: 1000 }).prepare(readFileSync(SHIPPED))
  // small files, so that some were rotated
  const log = createDecisionLog({ dir, maxFileBytes: 16 * 1024 * 1024, maxPendingBytes: 512 * 1024 * 1024 })
  const recorder = new DecisionRecorder({ log, dir, sampleAllowed: 1, keepArguments: 'masked' })
  const expected = new Map<string, number>()
  for (let n = 0; n < DECISIONS; n++) {
    const [roles, scopes] = [ROLES[below(ROLES.length)]!, SCOPES[below(SCOPES.length)]!]
    const action = ACTIONS[below(ACTIONS.length)]!
    const consumer = `app-${below(20)}`
    const id = action === 'tools.call' ? `tool_${below(30)}` : '*'
    const input = inputOf({ action, id, caller: { roles, scopes, consumer }, context: { arguments: { n } } })
    const decision = await live.decide(input, JSON.stringify([roles, scopes]), below(1000))
    recorder.recordDecision(input, decision, n)
    if (n % 10_000 === 0) await log.flush()
    // the change takes `read` from viewers: who had it from nowhere else loses what needs no more than that
    const onlyFromViewer = roles.length === 1 && roles[0] === 'viewer' && !scopes.includes('read')
    if (onlyFromViewer && (action === 'tools.list' || action === 'control.apis.list')) {
      const kind = `allow→deny insufficient_scope ${action} ${id} ${consumer}`
      expected.set(kind, (expected.get(kind) ?? 0) + 1)
    }
  }
  await log.close()
  expect(log.dropped).toBe(0)
  expect(readdirSync(dir).length).toBeGreaterThan(2)

  const { data } = readBundle(readFileSync(SHIPPED)) as { data: { toolgate: { roles: object } } }
  const roles = { ...data.toolgate.roles, viewer: [] }
  const candidate = join(dir, 'candidate.tar.gz')
  writeFileSync(
    candidate,
    altered({ 'data.json': JSON.stringify({ toolgate: { ...data.toolgate, roles } }) }),
  )

  // of the processor: the wall time also shows what else the machine does
  const before = process.cpuUsage()
  const shipped = fileURLToPath(SHIPPED)
  const { code, out } = await runToolgate([
    ...['policy', 'diff', candidate, '--bundle', shipped, '--log', dir, '--json'],
  ])
  const { user, system } = process.cpuUsage(before)
  const tookMs = (user + system) / 1000
  if (process.env.SOAK === '1') console.log(`${DECISIONS} decisions in ${(tookMs / 1000).toFixed(2)} s`)
  expect(tookMs).toBeLessThan(20_000)
  expect(code).toBe(1)
  const { total, flips } = JSON.parse(out) as { total: number; flips: Flip[] }
  expect(total).toBe(DECISIONS)
  const found = flips.map(
    ({ direction, rule, action, resource, consumer, count }) =>
      [`${direction} ${rule} ${action} ${resource} ${consumer}`, count] as const,
  )
  expect(new Map(found)).toEqual(expected)
  expect(expected.size).toBe(40)
})
