/** Tasks in memory: the bounds on their number and on the length of their outcomes. What every task store promises is in `test/contract/sessions`. */
import { describe, expect, it } from 'vitest'
import { MemoryTaskStore } from '../../../../src/data-plane/sessions/memory/tasks.ts'
import { MAX_SHORT_OUTCOME, type TaskRecord } from '../../../../src/data-plane/sessions/task-store.ts'

const LIMITS = { all: 10_000, ofOwner: 6_000 }

function task(owner: string, id: string, length = 0, createdAtMs = 0): TaskRecord {
  return {
    id,
    owner,
    createdAtMs,
    updatedAtMs: createdAtMs,
    ttlMs: 1_000,
    aliveUntilMs: 0,
    status: length === 0 ? 'working' : 'completed',
    ...(length === 0 ? {} : { outcome: 'x'.repeat(length) }),
  }
}

describe('outcomes', () => {
  const clock = { nowMs: 0 }
  function open(...owners: string[]): MemoryTaskStore {
    clock.nowMs = 0
    const store = new MemoryTaskStore(() => clock.nowMs, 100, LIMITS)
    for (const owner of owners) for (const id of ['1', '2', '3']) store.create(task(owner, id), 10)
    return store
  }

  it('of one owner are bounded; what does not fit leaves the task as it was', () => {
    const store = open('ann')
    expect(store.put(task('ann', '1', 4_000))).toBe(true)
    expect(store.put(task('ann', '2', 2_001))).toBe('full')
    expect(store.get('ann', '2')?.status).toBe('working')
    expect(store.put(task('ann', '2', 2_000))).toBe(true)
    // the same outcome again takes no more
    expect(store.put(task('ann', '2', 2_000))).toBe(true)
    expect(store.put(task('ann', '3', MAX_SHORT_OUTCOME))).toBe(true)
  })

  it('of all owners are bounded together, until tasks expire', () => {
    const store = open('ann', 'bob', 'eve')
    expect([store.put(task('ann', '1', 6_000)), store.put(task('bob', '1', 4_000))]).toEqual([true, true])
    expect(store.put(task('eve', '1', 2_000))).toBe('full')
    clock.nowMs = 999
    expect(store.put(task('eve', '1', 2_000))).toBe('full')
    expect(store.create(task('eve', 'later', 0, 999), 10)).toBe('created')
    clock.nowMs = 1_000
    expect(store.put(task('eve', 'later', 6_000, 999))).toBe(true)
  })
})

it('the expired tasks of others make place for a new one', () => {
  const clock = { nowMs: 0 }
  const store = new MemoryTaskStore(() => clock.nowMs, 2, LIMITS)
  expect([store.create(task('ann', '1'), 10), store.create(task('ann', '2', 0, 500), 10)]).toEqual([
    'created',
    'created',
  ])
  clock.nowMs = 999
  expect(store.create(task('bob', '1', 0, 999), 10)).toBe('too_many')
  clock.nowMs = 1_000
  expect(store.create(task('bob', '1', 0, 1_000), 10)).toBe('created')
  expect(store.create(task('bob', '2', 0, 1_000), 10)).toBe('too_many')
})

it('an owner without tasks has none to list or to change', () => {
  const store = new MemoryTaskStore(() => 0)
  expect(store.list('ann')).toEqual([])
  expect(store.put(task('ann', '1'))).toBe(false)
})
