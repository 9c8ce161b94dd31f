/** The stage of a simulated call that reads a quota, on the counters of the stage that takes it. */
import { describe, expect, it } from 'vitest'
import { peekQuota } from '../../../../../src/data-plane/stages/3-limit/peek-quota.ts'
import { takeQuota } from '../../../../../src/data-plane/stages/3-limit/take-quota.ts'
import { aPrincipal, aSnapshot, aTool, compiled, exchange } from '../../../../fixtures/exchange.ts'
import { createMemoryQuota } from '../../../../fixtures/memory-quota.ts'

const CALL = { action: 'tools.call', tool: 'get_order', arguments: { id: '7' } } as const
const NOON = Date.UTC(2026, 2, 10, 12)
const DOCUMENT = 'https://agents.example/clients'

describe('a simulated call', () => {
  it.each([
    ['of a short name', 'agent'],
    ['of a name that lists shorten', `${DOCUMENT}/${'a'.repeat(120)}`],
  ])(
    'by a consumer %s is refused when its daily quota is used up, and takes nothing',
    async (_, consumer) => {
      const quota = createMemoryQuota({ consumers: 16, toolBuckets: 16, unixMs: () => NOON })
      const [take, peek] = [takeQuota(quota, () => ''), peekQuota(quota)]
      const other = `${consumer}b`
      const snapshot = aSnapshot({
        plans: [{ slug: 'two', name: 'Two', perDay: 2 }],
        consumers: { [consumer]: 'two', [other]: 'two' },
      })
      const callOf = (name: string) =>
        Object.assign(exchange({ operation: CALL, snapshot, receivedAtMs: NOON }), {
          principal: aPrincipal({ consumer: name }),
          tool: compiled(aTool()),
        })
      expect(await peek.run(callOf(consumer))).toBeUndefined()
      for (let calls = 0; calls < 2; calls++) expect(await take.run(callOf(consumer))).toBeUndefined()
      for (let looks = 0; looks < 2; looks++)
        expect(await peek.run(callOf(consumer))).toMatchObject({
          reason: 'quota_exceeded',
          message: expect.stringContaining('Daily quota exceeded: 2/2'),
        })
      // a name with the same beginning has its counter
      expect(await take.run(callOf(other))).toBeUndefined()
      expect(await peek.run(callOf(other))).toBeUndefined()
      await quota.close()
    },
  )
})
