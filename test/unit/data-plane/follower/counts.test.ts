/** Counts between two reports are added up, and taken once. */
import { describe, expect, it } from 'vitest'
import { Counts } from '../../../../src/data-plane/follower/counts.ts'

const at = (ms: number) => new Date(ms)
const usage = (subscriptionId: string, day: string, requests: number, lastMs: number) => ({
  subscriptionId,
  day,
  requests,
  errors: 1,
  lastRequestAt: at(lastMs),
})

describe('counts between two reports', () => {
  it('are added up by subscription and day, with the latest moment', () => {
    const counts = new Counts()
    counts.add({
      usage: [usage('a', '2026-01-01', 1, 50)],
      keysUsed: [{ id: 'k', at: at(9) }],
      consumersSeen: [],
    })
    counts.add({
      usage: [usage('a', '2026-01-01', 2, 40), usage('a', '2026-01-02', 4, 60)],
      keysUsed: [{ id: 'k', at: at(5) }],
      consumersSeen: [{ tenantId: 't', subject: 's', at: at(1) }],
    })
    expect(counts.rows()).toEqual({
      usage: [{ ...usage('a', '2026-01-01', 3, 50), errors: 2 }, usage('a', '2026-01-02', 4, 60)],
      keysUsed: [{ id: 'k', at: at(9) }],
      consumersSeen: [{ tenantId: 't', subject: 's', at: at(1) }],
    })
  })

  it('are taken once', () => {
    const counts = new Counts()
    counts.add({ usage: [usage('a', '2026-01-01', 1, 1)], keysUsed: [], consumersSeen: [] })
    expect(counts.take(10).usage).toHaveLength(1)
    expect(counts.rows()).toEqual({ usage: [], keysUsed: [], consumersSeen: [] })
  })
})
