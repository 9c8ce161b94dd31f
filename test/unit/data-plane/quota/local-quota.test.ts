/** The quota of one thread: reports, revision, slow tools, orders of other threads to clear caches, and plans files that cannot be read. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { Notices } from '../../../../src/data-plane/quota/memory/notices.ts'
import { readPlans } from '../../../../src/data-plane/quota/plans.ts'
import { createMemoryQuota } from '../../../fixtures/memory-quota.ts'

describe('the quota of one thread', () => {
  const quota = createMemoryQuota({ consumers: 16, toolBuckets: 16 })

  it('reports for metrics what it lists', () => {
    quota.take({ key: 'a', limits: { perDay: 5, perMonth: 50 }, nowMs: Date.now() })
    expect(quota.usage()).toEqual([
      { key: 'a', dailyCount: 1, dailyLimit: 5, monthlyCount: 1, monthlyLimit: 50 },
    ])
    expect(quota.usage()).toEqual(quota.statistics())
  })

  it('changes its revision with a reset, and with nothing else', () => {
    const before = quota.revision()
    quota.take({ key: 'a', limits: { perDay: 5 }, nowMs: Date.now() })
    expect(quota.reset('unknown')).toBe(false)
    expect(quota.revision()).toBe(before)
    expect(quota.reset('a')).toBe(true)
    expect(quota.revision()).not.toBe(before)
  })

  it('counts the calls of a tool whose rate is below one a minute by the hour', () => {
    const tool = { key: 'a\0slow', rateLimit: { requestsPerMinute: 0.5, burst: 1 } }
    const take = () => quota.take({ key: 'a', limits: {}, nowMs: Date.now(), tool })
    expect(take().granted).toBe(true)
    const refused = take()
    expect(refused.granted).toBe(false)
    expect((refused as { retryAfterSecs: number }).retryAfterSecs).toBeGreaterThan(60)
    quota.advance(120_000)
    expect(take().granted).toBe(true)
  })
})

describe('an order to clear the caches', () => {
  const open: Notices[] = []
  afterEach(() => {
    for (const notices of open.splice(0)) notices.close()
  })
  function join(heard: string[], name: string): Notices {
    const notices = new Notices('orders-of-this-test')
    for (const listener of ['first', 'second']) notices.listen(() => heard.push(`${name} ${listener}`))
    open.push(notices)
    return notices
  }

  it('reaches every listener of the other threads, and none of the thread that gives it', async () => {
    const heard: string[] = []
    const [one] = [join(heard, 'one'), join(heard, 'two')]
    one!.pass()
    await expect.poll(() => heard).toEqual(['two first', 'two second'])
  })

  it('of another instance reaches this thread as well', async () => {
    const heard: string[] = []
    const [one] = [join(heard, 'one'), join(heard, 'two')]
    one!.notifyAll()
    expect(heard).toEqual(['one first', 'one second'])
    await expect.poll(() => heard.slice(2)).toEqual(['two first', 'two second'])
  })

  it('does not reach a thread that has ended its part', async () => {
    const heard: string[] = []
    const [one, two] = [join(heard, 'one'), join(heard, 'two')]
    join(heard, 'three')
    two!.close()
    one!.pass()
    await expect.poll(() => heard).toEqual(['three first', 'three second'])
    await sleep(0)
    expect(heard).toHaveLength(2)
  })
})

describe('the plans file', () => {
  it('that is named must exist', () => {
    expect(() => readPlans('/nonexistent/plans.yaml')).toThrow(
      /\/nonexistent\/plans\.yaml: the plans file cannot be read \(ENOENT.*Set PLANS/,
    )
  })

  it('that is a folder is not taken for a missing one', () => {
    expect(() => readPlans('.')).toThrow(/the plans file cannot be read \(EISDIR/)
  })
})
