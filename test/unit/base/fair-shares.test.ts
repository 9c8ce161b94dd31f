/** Shares of what is finite: how much owners and their parts get, what later ones find, and bounds that hold in any order of takes. */
import { describe, expect, it } from 'vitest'
import { FairShares, type Share, sharedCells } from '../../../src/base/fair-shares.ts'

/** What a party takes in steps of one before it is refused. */
function takeAll(shares: FairShares, owner: string, part = ''): number {
  let taken = 0
  while (shares.take(owner, part, 1) !== undefined) taken++
  return taken
}

describe('dynamic thresholds', () => {
  it('leave a part for each owner that comes later', () => {
    const shares = new FairShares({ max: 64, factor: 2 })
    const taken = ['a', 'b', 'c', 'd', 'e'].map(owner => takeAll(shares, owner))
    expect(taken).toEqual([37, 16, 7, 3, 1])
    expect([shares.held, shares.free, shares.counts.refused]).toEqual([64, 0, 5])
  })

  it('leave a part of what an owner may take for each of its parts', () => {
    const shares = new FairShares({ max: 1_000, factor: 8 })
    const parts = ['one', 'two', 'three'].map(part => takeAll(shares, 'a', part))
    expect(parts[0]).toBeGreaterThan(870)
    expect(parts[1]).toBeGreaterThan(5)
    expect(parts.reduce((sum, taken) => sum + taken, 0)).toBeLessThan(890)
  })

  it('give all of it at once to one that is alone', () => {
    const shares = new FairShares({ max: 64, factor: 1 })
    const share = shares.take('a', '', 64)
    expect(share).toBeDefined()
    expect(shares.take('b', '', 1)).toBeUndefined()
    shares.release(share!, 64)
    expect([shares.held, shares.take('b', '', 64) !== undefined]).toEqual([0, true])
  })

  it.each([1, 2, 3, 8])('give one that is alone all of %i, one at a time', max => {
    expect(takeAll(new FairShares({ max, factor: 8 }), 'a', 'b')).toBe(max)
  })

  it('end with equal amounts when all take as much as they get', () => {
    const shares = new FairShares({ max: 10_000, factor: 8 })
    const held: Share[][] = Array.from({ length: 10 }, () => [])
    // the first one comes early; calls end in the order in which they began
    while (true) {
      const share = shares.take('0', '', 1)
      if (share === undefined) break
      held[0]!.push(share)
    }
    for (let round = 0; round < 10_000; round++)
      for (const [owner, own] of held.entries()) {
        const ended = own.shift()
        if (ended !== undefined) shares.release(ended, 1)
        for (let tried = 0; tried < 2; tried++) {
          const share = shares.take(String(owner), '', 1)
          if (share !== undefined) own.push(share)
        }
      }
    const amounts = held.map(own => own.length)
    expect(Math.max(...amounts) - Math.min(...amounts)).toBeLessThanOrEqual(0.05 * 1_000)
    expect(shares.held).toBeGreaterThan(9_700)
  })
})

describe('a guarantee', () => {
  it('is kept for an owner that comes after many that took all they could', () => {
    const shares = new FairShares({ max: 10_000, factor: 8, guarantee: { owners: 32, each: 19 } })
    for (let owner = 0; owner < 31; owner++) takeAll(shares, `hog ${owner}`, 'x')
    expect(takeAll(shares, 'last')).toBeGreaterThanOrEqual(19)
  })

  it('without it, a few take everything', () => {
    const shares = new FairShares({ max: 10_000, factor: 8 })
    for (let owner = 0; owner < 31; owner++) takeAll(shares, `hog ${owner}`, 'x')
    expect(takeAll(shares, 'last')).toBe(0)
  })
})

/** Linear congruential (Numerical Recipes). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

describe.each([1, 2, 3, 4, 5, 6, 7, 8])('takes and releases in any order (seed %i)', seed => {
  it('stay within the maximum, keep the guarantee, and are all given back', () => {
    const random = randomOf(seed)
    const max = 200 + Math.floor(random() * 2_000)
    const owners = 2 + Math.floor(random() * 30)
    const each = Math.floor(max / 512) + 1
    const shares = new FairShares({ max, factor: 8, guarantee: { owners, each } })
    const held = new Map<string, { share: Share; amount: number }[]>()
    const ofOwner = (owner: string) => (held.get(owner) ?? []).reduce((sum, { amount }) => sum + amount, 0)
    for (let step = 0; step < 5_000; step++) {
      // some owners take far more often than others
      const owner = String(Math.floor(random() ** 3 * owners))
      const own = held.get(owner) ?? []
      held.set(owner, own)
      if (random() < 0.45 && own.length > 0) {
        const [given] = own.splice(Math.floor(random() * own.length), 1)
        shares.release(given!.share, given!.amount)
        continue
      }
      const amount = 1 + Math.floor(random() ** 4 * 20)
      const share = shares.take(owner, String(Math.floor(random() * 3)), amount)
      if (share !== undefined) own.push({ share, amount })
      else expect(ofOwner(owner) + amount).toBeGreaterThan(each)
      expect(shares.held).toBeLessThanOrEqual(max)
    }
    for (const own of held.values()) for (const { share, amount } of own) shares.release(share, amount)
    expect(shares.held).toBe(0)
  })
})

it('hold for all threads together, and a thread that is replaced holds nothing', () => {
  const cells = sharedCells(2)
  const open = (thread: number) => new FairShares({ max: 64, factor: 1, cells, thread })
  const [first, second] = [open(1), open(2)]
  const taken = takeAll(first, 'a')
  expect(second.free).toBe(64 - taken)
  expect(second.take('b', '', second.free + 1)).toBeUndefined()
  expect(takeAll(second, 'b')).toBeGreaterThan(0)
  open(1)
  expect(first.held).toBe(taken)
  expect(second.free).toBe(64 - second.held)
})

it('removes parties that hold nothing', () => {
  const shares = new FairShares({ max: 10, factor: 8 })
  const kept = shares.take('kept', '', 1)!
  for (let party = 0; party < 5_000; party++) shares.release(shares.take(`owner ${party}`, '', 1)!, 1)
  expect(shares.take('kept', '', 1)).toBe(kept)
  expect(shares.held).toBe(2)
})
