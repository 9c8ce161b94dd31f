/** What the usage counter reports to the control plane: each call once, on its day, with the latest time; also counts of another thread. */
import { expect, test } from 'vitest'
import { UsageCounter } from '../../../../../src/data-plane/stages/6-settle/count-usage.ts'
import { aPrincipal, exchange } from '../../../../fixtures/exchange.ts'

const EVENING = Date.parse('2026-11-21T23:59:59.000Z')
const MORNING = EVENING + 2000

function called(counter: UsageCounter, receivedAtMs: number, principal = aPrincipal()): void {
  const one = exchange({
    operation: { action: 'tools.call', tool: 'get_order', arguments: {} },
    receivedAtMs,
  })
  Object.assign(one, {
    principal,
    entitlement: { limits: {}, plan: undefined, subscriptionId: 'sub-1' },
    quota: { granted: true },
  })
  void counter.stage.run(one)
}

test('calls are counted on the day they arrived, and reported once', () => {
  const counter = new UsageCounter()
  const key = aPrincipal({ kind: 'api_key', subject: 'key-1' })
  called(counter, EVENING, key)
  called(counter, EVENING + 500, key)
  called(counter, MORNING, key)
  const { usage, keysUsed, consumersSeen } = counter.take()
  expect(usage.map(({ day, requests }) => [day, requests])).toEqual([
    ['2026-11-21', 2],
    ['2026-11-22', 1],
  ])
  expect(usage[0]!.lastRequestAt).toEqual(new Date(EVENING + 500))
  expect(keysUsed).toEqual([{ id: 'key-1', at: new Date(MORNING) }])
  expect(consumersSeen).toEqual([{ tenant: 'acme', subject: 'demo-agent', at: new Date(MORNING) }])
  expect(counter.take()).toEqual({ usage: [], keysUsed: [], consumersSeen: [] })
})

test('a credential used again after a collection is reported again, and earlier reports do not change', () => {
  const counter = new UsageCounter()
  const caller = aPrincipal()
  called(counter, EVENING, caller)
  const first = counter.take()
  called(counter, EVENING + 100, caller)
  expect(counter.take().usage[0]).toMatchObject({ requests: 1, lastRequestAt: new Date(EVENING + 100) })
  expect(first.consumersSeen[0]!.at).toEqual(new Date(EVENING))
  expect(first.usage[0]!.lastRequestAt).toEqual(new Date(EVENING))
})

test('counts of another thread are added, and calls that follow go on with them', () => {
  const [mine, theirs] = [new UsageCounter(), new UsageCounter()]
  const caller = aPrincipal()
  called(mine, EVENING, caller)
  called(theirs, EVENING + 400)
  mine.add(theirs.take())
  called(mine, EVENING + 100, caller)
  const { usage, consumersSeen } = mine.take()
  expect(usage).toHaveLength(1)
  expect(usage[0]).toMatchObject({ requests: 3, errors: 0 })
  expect(consumersSeen).toHaveLength(1)
})
