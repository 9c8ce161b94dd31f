/** Stages of a deployment and the example of deploy/stages: faults at the start, positions, and outcomes that are late or not valid. */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadStages } from '../../../../src/app/main/data-plane/deployment-stages.ts'
import { compose } from '../../../../src/data-plane/pipeline/compose.ts'
import {
  addStages,
  checkStages,
  type DeploymentStage,
} from '../../../../src/data-plane/pipeline/deployment-stage.ts'
import type { Phase, Stage } from '../../../../src/data-plane/pipeline/stage.ts'
import { refuse } from '../../../../src/model/refusal.ts'
import { exchange } from '../../../fixtures/exchange.ts'

const own = (fields: Partial<DeploymentStage> = {}): DeploymentStage => ({
  id: 'own',
  phase: 'decide',
  budgetMs: 20,
  run: () => undefined,
  ...fields,
})
const builtIn = (...names: string[]): Stage[] =>
  names.map(name => {
    const [phase, id] = name.split(':') as [Phase, string]
    return { id, phase, run: () => undefined }
  })
const BUILT_IN = builtIn('admit:enter', 'decide:authorize', 'decide:validate', 'invoke:call', 'settle:log')
const noOverrun = () => expect.fail('no overrun is expected')
const order = (...stages: DeploymentStage[]) =>
  addStages(BUILT_IN, stages, noOverrun)
    .map(({ id }) => id)
    .join(' ')

describe('the check of a module', () => {
  it.each([
    ['no list', {}, /list of 1 to 20 stages/],
    ['an empty list', [], /list of 1 to 20 stages/],
    ['an id with capitals', [own({ id: 'Own' })], /stage "Own": id must have 1 to 63/],
    ['a stage without id', [{ phase: 'admit' }], /stage number 1: id must have 1 to 63/],
    [
      'an unknown phase',
      [own({ phase: 'before' as Phase })],
      /stage "own": phase must be one of admit, identify/,
    ],
    ['phases in reverse', [own(), own({ id: 'b', phase: 'admit' })], /stage "b": its phase precedes/],
    ['a stage without run', [{ ...own(), run: undefined }], /stage "own": run must be a function/],
    [
      'no budget',
      [{ ...own(), budgetMs: undefined }],
      /stage "own": budgetMs must be a number from 1 to 1000/,
    ],
    ['a budget without bound', [own({ budgetMs: Number.POSITIVE_INFINITY })], /budgetMs/],
    ['last in another phase', [own({ last: true })], /"own": "last" is only for stages of the phase settle/],
    [
      'last that is not true',
      [{ ...own({ phase: 'settle' }), last: false }],
      /stage "own": "last" must be true/,
    ],
    ['a position that is not an id', [{ ...own(), after: 3 }], /"after" must be the id/],
  ])('refuses %s', (_, value, message) => {
    expect(() => checkStages(value)).toThrow(message)
  })

  it('names the file that cannot be loaded', async () => {
    await expect(loadStages('./missing.mjs')).rejects.toThrow(/^\.\/missing\.mjs: /)
    await expect(loadStages('./package.json')).rejects.toThrow(/^\.\/package\.json: /)
    expect(await loadStages(undefined)).toEqual([])
  })
})

describe('the position of a stage', () => {
  it('is the end of its phase, in invoke the beginning', () => {
    expect(order(own())).toBe('enter authorize validate own call log')
    expect(order(own({ phase: 'invoke' }))).toBe('enter authorize validate own call log')
    expect(order(own({ phase: 'settle' }))).toBe('enter authorize validate call log own')
  })

  it('is the one it names', () => {
    expect(order(own({ after: 'authorize' }))).toBe('enter authorize own validate call log')
    expect(() => order(own({ after: 'enter' }))).toThrow(
      'stage "own": "after" is "enter", which is not an earlier stage of the same phase; use one of authorize, validate, or remove "after"',
    )
  })

  it('is that of the list among stages of the deployment', () => {
    const list = (fields: Partial<DeploymentStage>, ...ids: string[]) => ids.map(id => own({ ...fields, id }))
    expect(order(...list({ phase: 'invoke' }, 'a', 'b', 'c'))).toBe('enter authorize validate a b c call log')
    expect(order(...list({}, 'a', 'b'))).toBe('enter authorize validate a b call log')
    expect(order(...list({ after: 'authorize' }, 'a', 'b'))).toBe('enter authorize a b validate call log')
    const chain = [
      ...list({ after: 'authorize' }, 'a'),
      own({ id: 'of-a', after: 'a' }),
      ...list({ after: 'authorize' }, 'b'),
    ]
    expect(order(...chain)).toBe('enter authorize a of-a b validate call log')
    expect(order(...list({ phase: 'invoke' }, 'a'), own({ id: 'b', phase: 'invoke', after: 'call' }))).toBe(
      'enter authorize validate a call b log',
    )
  })

  it('is behind the other settle stages of the deployment when it is last', async () => {
    const runs: string[] = []
    const settles = (id: string, fields: Partial<DeploymentStage> = {}) =>
      own({ id, phase: 'settle', run: () => void runs.push(id), ...fields })
    const stages = addStages(BUILT_IN, [settles('end', { last: true }), settles('note')], noOverrun)
    await compose(stages, error => expect.fail(String(error)))(exchange())
    expect(runs).toEqual(['note', 'end'])
  })

  it('cannot be that of a built-in stage', () => {
    const stages = addStages(BUILT_IN, [own({ id: 'validate' })], noOverrun)
    expect(() => compose(stages, () => {})).toThrow(/"validate" is listed twice/)
  })
})

describe('a run', () => {
  const bugs: string[] = []
  const outcomeOf = async (run: DeploymentStage['run'], overruns: number[] = []) => {
    bugs.length = 0
    const stages = addStages(BUILT_IN, [own({ run })], (_, ms) => overruns.push(ms))
    const outcome = await compose(stages, error => bugs.push(String(error)))(exchange())
    return outcome?.kind === 'refusal' ? outcome.reason : outcome
  }

  it('ends the call with its refusal, or lets it continue', async () => {
    expect(await outcomeOf(() => refuse('policy_denied'))).toBe('policy_denied')
    expect(await outcomeOf(async () => refuse('overloaded'))).toBe('overloaded')
    expect(await outcomeOf(() => undefined)).toBeUndefined()
    expect(bugs).toEqual([])
  })

  it.each([
    ['true', () => true, 'must return undefined, a refusal or a reply'],
    [
      'a refusal that is not of the table',
      () => ({ kind: 'refusal' }),
      'must return undefined, a refusal or a reply',
    ],
    ['a Promise of a text', async () => 'no', 'must return undefined, a refusal or a reply'],
    [
      'a Promise that stays pending',
      () => new Promise(() => {}),
      'did not finish within its budget (budgetMs) of 20 ms',
    ],
    ['a Promise that rejects', async () => Promise.reject(new Error('broken')), 'broken'],
  ])('with %s is an internal error', async (_, run, bug) => {
    expect(await outcomeOf(run as DeploymentStage['run'])).toBe('internal_error')
    expect(bugs.join()).toContain(bug)
  })

  it.each([
    ['rejects', async () => Promise.reject(new Error('broken')), 'broken'],
    [
      'stays pending',
      () => new Promise(() => {}),
      'stage "late" did not finish within its budget (budgetMs) of 20 ms',
    ],
    ['is not valid', async () => 'no', 'must return undefined, a refusal or a reply'],
  ])(
    'with `last` whose Promise %s is reported with its stage and exchange, after the response',
    async (_, run, bug) => {
      const reported: string[] = []
      const last = own({ id: 'late', phase: 'settle', last: true, run: run as DeploymentStage['run'] })
      const pipeline = compose(addStages(BUILT_IN, [last], noOverrun), (error, stage, { requestId }) =>
        reported.push(`${stage.id} of ${requestId}: ${error}`),
      )
      expect(pipeline(exchange({ requestId: 'req-7' }))).toBeUndefined()
      expect(reported).toEqual([])
      await expect.poll(() => reported, { timeout: 20_000, interval: 5 }).toHaveLength(1)
      expect(reported[0]).toMatch(/^late of req-7: Error: /)
      expect(reported[0]).toContain(bug)
    },
  )

  it('that blocks longer than its budget is reported', async () => {
    const overruns: number[] = []
    const blocks = () => {
      const until = performance.now() + 25
      while (performance.now() < until);
      return undefined
    }
    await outcomeOf(blocks, overruns)
    expect(overruns).toEqual([expect.any(Number)])
    expect(overruns[0]).toBeGreaterThan(20)
  })
})

it('the example of deploy/stages refuses a deletion outside working hours', async () => {
  const path = join(import.meta.dirname, '../../../../deploy/stages/refuse-deletion.mjs')
  const [stage] = await loadStages(path)
  const at = (hour: number, tool: string, roles: string[] = []) =>
    stage!.run({
      operation: { action: 'tools.call', tool, arguments: {} },
      principal: { roles },
      receivedAtMs: Date.UTC(2026, 0, 1, hour),
    } as never)
  expect(at(3, 'shop_deleteCart')).toMatchObject({ reason: 'policy_denied' })
  expect([
    at(9, 'shop_deleteCart'),
    at(3, 'shop_listProducts'),
    at(3, 'shop_deleteCart', ['on-call']),
  ]).toEqual([undefined, undefined, undefined])
})
