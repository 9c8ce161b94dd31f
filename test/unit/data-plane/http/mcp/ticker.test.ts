/** The timer that many calls and streams share: which items are called, that removed ones are not, and that short-lived ones do not become old. */
import { getHeapSpaceStatistics } from 'node:v8'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Ticked, Ticker } from '../../../../../src/data-plane/http/mcp/ticker.ts'

class Item implements Ticked {
  ticking = false
  previous: Ticked | undefined
  next: Ticked | undefined
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

const namesOf = (ticker: Ticker<Item>): string[] => ticker.items().map(({ name }) => name)

describe('a ticker', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())

  it('calls what is registered, in order, and rests when nothing is', () => {
    const called: string[] = []
    const ticker = new Ticker<Item>(
      100,
      ({ name }, nowMs) => called.push(`${name} ${nowMs}`),
      () => 7,
    )
    const [a, b] = [new Item('a'), new Item('b')]
    ticker.add(a)
    ticker.add(b)
    ticker.add(a)
    expect(ticker.size).toBe(2)
    vi.advanceTimersByTime(100)
    expect(called).toEqual(['a 7', 'b 7'])
    ticker.delete(a)
    ticker.delete(b)
    ticker.delete(b)
    expect(ticker.size).toBe(0)
    vi.advanceTimersByTime(100)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('keeps the order when items are removed, and takes one again', () => {
    const ticker = new Ticker<Item>(100, () => {})
    const items = ['a', 'b', 'c', 'd'].map(name => new Item(name))
    for (const item of items) ticker.add(item)
    ticker.delete(items[1]!)
    ticker.delete(items[3]!)
    ticker.delete(items[0]!)
    expect(namesOf(ticker)).toEqual(['c'])
    ticker.add(items[0]!)
    expect(namesOf(ticker)).toEqual(['c', 'a'])
    ticker.close()
  })

  it('no longer calls what another one took out in the same round', () => {
    const called: string[] = []
    const [a, b] = [new Item('a'), new Item('b')]
    const ticker = new Ticker<Item>(100, item => {
      called.push(item.name)
      ticker.delete(b)
    })
    ticker.add(a)
    ticker.add(b)
    vi.advanceTimersByTime(100)
    expect(called).toEqual(['a'])
    ticker.close()
  })
})

it('does not make old what came and went', () => {
  const ticker = new Ticker<Item & { payload: number[] }>(1_000_000, () => {})
  const inFlight: (Item & { payload: number[] })[] = []
  const oldBytes = (): number =>
    getHeapSpaceStatistics().find(space => space.space_name === 'old_space')!.space_used_size
  const turn = (): void => {
    const item = Object.assign(new Item('x'), { payload: Array.from({ length: 128 }, (_, i) => i) })
    ticker.add(item)
    if (inFlight.push(item) > 20) ticker.delete(inFlight.shift()!)
  }
  // at rest, with collections, objects that the ticker keeps become old themselves
  for (let i = 0; i < 30; i++) turn()
  let garbage: number[] = []
  for (let i = 0; i < 200_000; i++) garbage = Array.from({ length: 64 }, () => i)
  expect(garbage).toHaveLength(64)
  let [before, grown] = [Number.POSITIVE_INFINITY, 0]
  for (let call = 0; call < 300_000; call++) {
    turn()
    if (call % 1000 !== 0) continue
    before = Math.min(before, oldBytes())
    grown = Math.max(grown, oldBytes() - before)
  }
  ticker.close()
  expect(grown).toBeLessThan(8 * 1024 * 1024)
})
