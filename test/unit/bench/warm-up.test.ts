/** When a warm-up ends: at steady windows, and at its limit of time. No load is sent, and the clock is one of the test. */
import { describe, expect, it } from 'vitest'
import { takeTurns } from '../../../bench/http/load/turns.ts'
import { isSteady, MAX_WARM_UP_MS, WINDOWS, warmUp, warmUpText } from '../../../bench/http/load/warm-up.ts'

describe('windows are steady', () => {
  it.each([
    ['equal', [40, 40, 40, 40]],
    ['near each other, without a trend', [40, 42, 41, 39]],
    ['after any others', [400, 130, 60, 40, 41, 40, 41]],
  ])('when they are %s', (_, costs) => expect(isSteady(costs)).toBe(true))

  it.each([
    ['too few', Array.from({ length: WINDOWS - 1 }, () => 40)],
    ['still falling', [160, 90, 60, 48]],
    ['falling by little, each within the spread', [43.5, 42.4, 41.2, 40]],
    ['rising', [40, 41.2, 42.4, 43.5]],
    ['far from each other, without a trend', [40, 46, 40, 46]],
    ['disturbed in the last window', [40, 40, 40, 60]],
  ])('not when they are %s', (_, costs) => expect(isSteady(costs)).toBe(false))

  it('whatever the unit', () => {
    for (const unit of [0.001, 1, 1e6]) {
      expect(isSteady([40, 42, 41, 39].map(cost => cost * unit))).toBe(true)
      expect(isSteady([43.5, 42.4, 41.2, 40].map(cost => cost * unit))).toBe(false)
    }
  })
})

/** Windows of one second with these costs, the last one again and again. */
function load(...costs: readonly number[]) {
  let sent = 0
  return {
    window: async () => costs[Math.min(sent++, costs.length - 1)]!,
    nowMs: () => sent * 1000,
    sent: () => sent,
  }
}
const itself = (cost: number): number => cost

describe('a warm-up', () => {
  it('ends with the first steady windows', async () => {
    // four compilers at work for five seconds
    const { window, nowMs } = load(210, 160, 110, 80, 58, 50, 50, 51, 49)
    const warmed = await warmUp(window, itself, { nowMs })
    expect(warmed).toEqual({
      warm: true,
      warmUpMs: 9000,
      windows: [210, 160, 110, 80, 58, 50, 50, 51, 49],
    })
    expect(warmUpText(warmed, itself)).toBe('warm after 9 s')
  })

  it('ends at its limit of time, and is not warm then', async () => {
    let cost = 1000
    const { window, nowMs, sent } = load(1)
    const falling = async () => {
      cost *= 0.9
      return (await window()) * cost
    }
    const warmed = await warmUp(falling, itself, { nowMs })
    expect(warmed.warm).toBe(false)
    expect(warmed.warmUpMs).toBe(MAX_WARM_UP_MS)
    expect(sent()).toBe(MAX_WARM_UP_MS / 1000)
    expect(warmUpText(warmed, itself)).toMatch(/^NOT WARM: not steady after 30 s \(.* µs a call\)$/)
  })

  it('fails with its load', async () => {
    const wrong = () => Promise.reject(new Error('a wrong response'))
    await expect(warmUp(wrong, itself)).rejects.toThrow('a wrong response')
  })
})

describe('cases in turns', () => {
  it('are warmed up first, and written after each of their rounds', async () => {
    const log: string[] = []
    const takenOf = await takeTurns(
      { rounds: 2, seconds: 7, progress: () => {} },
      {
        name: 'test',
        cases: [{ id: 'a' }, { id: 'b' }],
        measure: async ({ id }, seconds) => {
          if (seconds === 7) log.push(`${id} measured`)
          return { cpuUs: 40 }
        },
        write: ({ id }, of) => log.push(`${id} written: ${of(id).rounds.length}, warm ${of(id).warm}`),
      },
    )
    expect(log).toEqual([
      'a measured',
      'a written: 1, warm true',
      'b measured',
      'b written: 1, warm true',
      'a measured',
      'a written: 2, warm true',
      'b measured',
      'b written: 2, warm true',
      'a written: 2, warm true',
      'b written: 2, warm true',
    ])
    expect(takenOf('b').rounds).toHaveLength(2)
  })
})
