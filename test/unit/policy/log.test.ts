/** The decision log: what is written and what is masked, rotation, replay of a seeded change, and explanations. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readBundle } from '../../../src/policy/bundle.ts'
import type { Decision, PreparedPolicy } from '../../../src/policy/engine.ts'
import { type DecisionEntry, entryOf } from '../../../src/policy/log/entry.ts'
import { explain } from '../../../src/policy/log/explain.ts'
import { readDecisionLog } from '../../../src/policy/log/reader.ts'
import { replay } from '../../../src/policy/log/replay.ts'
import { createDecisionLog, type DecisionLogOptions } from '../../../src/policy/log/writer.ts'
import { createOpaWasmEngine } from '../../../src/policy/opa-wasm/engine.ts'
import { altered, type InputParts, inputOf, SHIPPED } from '../../fixtures/policy/inputs.ts'

const LOG_FILE = 'decisions.ndjson'

const ALLOWED: Decision = { allow: true, reasons: [], revision: 'r' }
const DENIED: Decision = { allow: false, reasons: [{ code: 'closed', message: 'Closed.' }], revision: 'r' }
const AT = 1_790_000_000_000

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'decisions-'))
})
afterEach(() => {
  chmodSync(dir, 0o700)
  rmSync(dir, { recursive: true, force: true })
})

async function entries(path = dir): Promise<DecisionEntry[]> {
  const found: DecisionEntry[] = []
  for await (const entry of readDecisionLog(path, () => undefined)) found.push(entry)
  return found
}

async function written(
  decisions: readonly Decision[],
  options: Partial<DecisionLogOptions> = {},
): Promise<DecisionEntry[]> {
  const log = createDecisionLog({ dir, ...options })
  for (const [n, decision] of decisions.entries()) log.record(`id-${n}`, AT + n, inputOf(), decision)
  await log.close()
  return entries()
}

describe('the decision log', () => {
  it('holds what was asked and what was decided, in order', async () => {
    const found = await written([ALLOWED, DENIED])
    expect(found).toEqual([
      { id: 'id-0', at: AT, revision: 'r', input: inputOf(), allow: true, reasons: [] },
      { id: 'id-1', at: AT + 1, revision: 'r', input: inputOf(), allow: false, reasons: DENIED.reasons },
    ])
  })

  it('samples what was allowed, and never what was denied', async () => {
    let n = 0
    const options = { sampleAllowed: 0.5, random: () => (n++ % 4) / 4 }
    const found = await written([...Array(8).fill(ALLOWED), ...Array(8).fill(DENIED)], options)
    expect(found.filter(entry => entry.allow)).toHaveLength(4)
    expect(found.filter(entry => !entry.allow)).toHaveLength(8)
  })

  it('sets files aside by size, keeps so many, and is read oldest first', async () => {
    const log = createDecisionLog({ dir, maxFileBytes: 2000, maxFiles: 3 })
    for (let n = 0; n < 40; n++) {
      log.record(`id-${n}`, AT, inputOf(), DENIED)
      await log.flush()
    }
    await log.close()
    expect(
      readdirSync(dir)
        .filter(name => name !== LOG_FILE)
        .sort(),
    ).toEqual(['decisions.1.ndjson', 'decisions.2.ndjson', 'decisions.3.ndjson'])
    const ids = (await entries()).map(entry => Number(entry.id.slice(3)))
    expect(ids).toEqual([...ids].sort((a, b) => a - b))
    expect(ids.at(-1)).toBe(39)
  })

  it('goes on in the file of the process before it', async () => {
    await written([ALLOWED])
    expect(await written([DENIED])).toHaveLength(2)
  })

  it('is for its owner alone', async () => {
    await written([ALLOWED])
    expect(statSync(join(dir, LOG_FILE)).mode & 0o077).toBe(0)
  })

  it('drops lines rather than grow, and counts them', async () => {
    const warned: object[] = []
    const log = createDecisionLog({
      dir,
      maxPendingBytes: 2000,
      log: { warn: fields => warned.push(fields) },
    })
    for (let n = 0; n < 100; n++) log.record(`id-${n}`, AT, inputOf(), DENIED)
    await log.close()
    const kept = (await entries()).length
    expect(kept).toBeGreaterThan(0)
    expect(kept + log.dropped).toBe(100)
    expect(warned).toHaveLength(1)
  })

  it('survives a folder that is gone, and counts what it lost', async () => {
    const log = createDecisionLog({ dir: join(dir, 'sub') })
    rmSync(join(dir, 'sub'), { recursive: true })
    log.record('id-0', AT, inputOf(), DENIED)
    await log.close()
    expect(log.dropped).toBe(1)
  })

  it('is read past a line that a crash has cut', async () => {
    await written([ALLOWED, DENIED])
    const file = join(dir, LOG_FILE)
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"id":"cut","at":17`)
    const damaged: number[] = []
    let count = 0
    for await (const _ of readDecisionLog(dir, (_file, line) => damaged.push(line))) count++
    expect(count).toBe(2)
    expect(damaged).toEqual([3])
  })

  it('is missed by name', async () => {
    await expect(entries(join(dir, 'none'))).rejects.toThrow('no decision log was written there')
    await expect(entries(dir)).rejects.toThrow('contains no decision log')
  })
})

describe('arguments in the log', () => {
  const args = {
    orderId: 'o-1',
    amount: 7,
    password: 'hunter2',
    card: { number: '4111' },
    nested: { apiKey: 'k', list: [{ access_token: 't', fine: true }] },
    long: 'x'.repeat(300),
  }

  function logged(keep: 'none' | 'masked' | 'all', given: Record<string, unknown> = args): DecisionEntry {
    return entryOf('id', AT, inputOf({ context: { arguments: given } }), ALLOWED, keep)
  }

  it('are masked where their names require it, or they are long', () => {
    const entry = logged('masked')
    expect(entry.masked).toBe(true)
    expect(entry.input.context.arguments).toEqual({
      orderId: 'o-1',
      amount: 7,
      password: '[masked]',
      card: '[masked]',
      nested: { apiKey: '[masked]', list: [{ access_token: '[masked]', fine: true }] },
      long: '[masked]',
    })
  })

  it('are not marked when nothing had to be masked', () => {
    expect(logged('masked', { orderId: 'o-1' })).not.toHaveProperty('masked')
  })

  it('are left out, or kept, when that is wanted', () => {
    expect(logged('none').input.context).not.toHaveProperty('arguments')
    expect(logged('none').masked).toBe(true)
    expect(logged('all').input.context.arguments).toEqual(args)
  })

  it('are bounded however deep or many they are', () => {
    let deep: Record<string, unknown> = { end: 1 }
    for (let n = 0; n < 1000; n++) deep = { deep }
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`n${n}`, n]))
    for (const given of [deep, many, { list: Array(5000).fill(1) }]) {
      const entry = logged('masked', given)
      expect(JSON.stringify(entry).length).toBeLessThan(2000)
      expect(entry.masked).toBe(true)
    }
  })
})

describe('a replay', () => {
  /** The shipped policy, in which viewers have no scope and the role `auditor` is new. */
  function changed(): Buffer {
    const { data } = readBundle(readFileSync(SHIPPED)) as {
      data: { toolgate: { roles: Record<string, string[]> } }
    }
    const roles = { ...data.toolgate.roles, viewer: [], auditor: ['read'] }
    return altered({ 'data.json': JSON.stringify({ toolgate: { ...data.toolgate, roles } }) })
  }

  async function* log(count: number): AsyncGenerator<DecisionEntry> {
    const policy = await prepared(readFileSync(SHIPPED))
    for (let n = 0; n < count; n++) {
      const roles = n % 10 === 0 ? ['viewer'] : n % 10 === 1 ? ['auditor'] : ['tenant-admin']
      const parts: InputParts = {
        action: 'tools.list',
        type: 'tools',
        id: '*',
        caller: { roles, scopes: [], consumer: `app-${n % 4}`, tenant: `tenant-${n % 100}` },
        resource: { tenant: null },
      }
      yield entryOf(
        `id-${n}`,
        AT,
        inputOf(parts),
        await policy.decide(inputOf(parts), `${roles} ${n % 100}`, 1),
        'masked',
      )
    }
    policy.close()
  }

  function prepared(bundle: Uint8Array): Promise<PreparedPolicy> {
    return createOpaWasmEngine({ maxEvaluationMs: 1000 }).prepare(bundle)
  }

  it('of the same policy has no flips', async () => {
    const policy = await prepared(readFileSync(SHIPPED))
    expect(await replay(log(500), policy)).toMatchObject({ total: 500, flipped: 0, flips: [], skipped: 0 })
  })

  it('names exactly the flips of a change, by rule, action and consumer', async () => {
    const found = await replay(log(1000), await prepared(changed()), await prepared(readFileSync(SHIPPED)))
    expect(found).toMatchObject({ total: 1000, flipped: 200 })
    const by = found.flips.map(({ direction, rule, action, consumer, count }) =>
      [direction, rule, action, consumer, count].join(' '),
    )
    expect(by.sort()).toEqual([
      'allow→deny insufficient_scope tools.list app-0 50',
      'allow→deny insufficient_scope tools.list app-2 50',
      'deny→allow insufficient_scope tools.list app-1 50',
      'deny→allow insufficient_scope tools.list app-3 50',
    ])
    expect(found.flips[0]?.examples).toHaveLength(3)
  })

  it('takes time that grows with the number of decisions alone', async () => {
    const leastUs = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    const growth = () => leastUs[1]! / leastUs[0]!
    for (let run = 0; run < 10 && !(growth() < 24); run++)
      for (const [at, count] of [2_500, 20_000].entries()) {
        const policy = await prepared(changed())
        const before = process.cpuUsage()
        const found = await replay(log(count), policy)
        const { user, system } = process.cpuUsage(before)
        expect(found.flipped).toBe(count / 5)
        leastUs[at] = Math.min(leastUs[at]!, user + system)
      }
    expect(growth()).toBeLessThan(24)
  })

  it('distinguishes callers by how token and roles combine (SCOPES=intersection)', async () => {
    async function* both(): AsyncGenerator<DecisionEntry> {
      const viewer: InputParts['caller'] = { roles: ['viewer'], scopes: [] }
      for (const caller of [viewer, { ...viewer, rights: 'intersection' as const }]) {
        const input = inputOf({ action: 'tools.list', type: 'tools', id: '*', caller })
        const policy = await prepared(readFileSync(SHIPPED))
        yield entryOf(JSON.stringify(caller), AT, input, await policy.decide(input, 'one', 0), 'masked')
      }
    }
    const seen: boolean[] = []
    for await (const { allow } of both()) seen.push(allow)
    expect(seen).toEqual([true, false])
    expect(await replay(both(), await prepared(readFileSync(SHIPPED)))).toMatchObject({
      total: 2,
      flipped: 0,
    })
  })

  it('leaves out what no policy decided, and says so', async () => {
    async function* unavailable(): AsyncGenerator<DecisionEntry> {
      yield { ...entryOf('id', AT, inputOf(), { ...DENIED, unavailable: true }, 'masked') }
    }
    expect(await replay(unavailable(), await prepared(readFileSync(SHIPPED)))).toMatchObject({
      total: 0,
      skipped: 1,
    })
  })

  it('stops when the policy cannot decide', async () => {
    const policy = await prepared(readFileSync(SHIPPED))
    policy.close()
    async function* one(): AsyncGenerator<DecisionEntry> {
      yield entryOf('id-7', AT, inputOf(), ALLOWED, 'masked')
    }
    await expect(replay(one(), policy)).rejects.toThrow(
      'could not evaluate the entry id-7 in the decision log',
    )
  })
})

describe('an explanation', () => {
  const bundle = readFileSync(SHIPPED)
  const { rules } = readBundle(bundle)

  async function explained(parts: InputParts) {
    const policy = await createOpaWasmEngine({ maxEvaluationMs: 1000 }).prepare(bundle)
    return explain(policy, rules, inputOf(parts))
  }

  it('names file and line of the rules that fired', async () => {
    const { reasons } = await explained({ caller: { scopes: [] } })
    expect(reasons.map(reason => reason.code)).toEqual(['insufficient_scope'])
    expect(reasons[0]!.rules.length).toBeGreaterThan(0)
    for (const { file, line } of reasons[0]!.rules) {
      const source = readFileSync(new URL(`../../../policies/${file}`, import.meta.url), 'utf8').split('\n')
      expect(source[line - 1]).toMatch(/^deny contains/)
    }
  })

  it('names the fewest scopes that would allow', async () => {
    const destructive = { annotations: { readOnlyHint: false, destructiveHint: true } }
    expect((await explained({ caller: { scopes: [] }, resource: destructive })).missingScopes).toEqual([
      'execute',
      'write',
    ])
    expect(
      (await explained({ caller: { scopes: ['execute'] }, resource: destructive })).missingScopes,
    ).toEqual(['write'])
    expect((await explained({})).missingScopes).toEqual([])
  })

  it('says when no scope would help', async () => {
    expect((await explained({ resource: { tenant: 'beta' } })).missingScopes).toBeUndefined()
    const approve = { action: 'control.subscriptions.approve', caller: { scopes: [] } }
    expect((await explained(approve)).missingScopes).toBeUndefined()
  })
})
