/** The budget of held bytes: its parts by owner, threads that share it, and what a call holds until when. */
import { describe, expect, it } from 'vitest'
import { HeldBytes, Hold, mayGrow, sharedCells, UNASKED_BYTES } from '../../../src/net/held-bytes.ts'

const MIB = 1024 * 1024

/** A response that leaves when the test says so. */
function response() {
  const listeners: (() => void)[] = []
  return {
    onEnd: (listener: () => void) => void listeners.push(listener),
    leave: () => {
      for (const listener of listeners.splice(0)) listener()
    },
  }
}

/** MiB that an owner takes before it is refused. */
function takeAll(held: HeldBytes, owner: string): number {
  let taken = 0
  while (held.take(owner, MIB)) taken++
  return taken
}

describe('the budget', () => {
  it('gives one owner half, the next one half of the rest, and each further one a part', () => {
    const held = new HeldBytes(64 * MIB)
    expect(['a', 'b', 'c', 'd'].map(owner => takeAll(held, owner))).toEqual([32, 16, 8, 4])
    expect(held.bytes).toBe(60 * MIB)
    expect(held.counts.refused).toBe(4)
  })

  it('gives an idle owner all of it for one body', () => {
    const held = new HeldBytes(64 * MIB)
    expect(held.take('a', 64 * MIB)).toBe(true)
    expect(held.take('b', 1)).toBe(false)
    held.release('a', 64 * MIB)
    expect(held.bytes).toBe(0)
    expect(held.take('b', 64 * MIB)).toBe(true)
  })

  it('holds for all threads of a process together, and a thread that is replaced holds nothing', () => {
    const cells = sharedCells(2)
    const [first, second] = [1, 2].map(thread => new HeldBytes(64 * MIB, cells, thread)) as [
      HeldBytes,
      HeldBytes,
    ]
    expect(takeAll(first, 'a')).toBe(32)
    expect(second.take('b', 33 * MIB)).toBe(false)
    expect(takeAll(second, 'b')).toBe(16)
    new HeldBytes(64 * MIB, cells, 1)
    expect(second.take('b', 32 * MIB)).toBe(true)
  })
})

describe('what a call holds', () => {
  it('is free when the response has left', () => {
    const held = new HeldBytes(64 * MIB)
    const { onEnd, leave } = response()
    const hold = new Hold(held, 'a', { onEnd })
    expect(hold.take(MIB)).toBe(true)
    expect(held.bytes).toBe(4 * MIB)
    expect(hold.take(MIB)).toBe(true)
    leave()
    expect(held.bytes).toBe(0)
  })

  it('stays until each user has released it, also when the response has left before', () => {
    const held = new HeldBytes(64 * MIB)
    const { onEnd, leave } = response()
    const hold = new Hold(held, 'a', { onEnd }).retain()
    hold.take(MIB)
    leave()
    hold.take(MIB)
    expect(held.bytes).toBe(8 * MIB)
    hold.release()
    expect(held.bytes).toBe(0)
  })

  it('is nothing when it was refused or asked for nothing', () => {
    const held = new HeldBytes(4 * MIB)
    const { onEnd, leave } = response()
    const hold = new Hold(held, 'a', { onEnd }).retain()
    expect(hold.take(2 * MIB)).toBe(false)
    hold.release()
    leave()
    expect(held.bytes).toBe(0)
  })
})

it('a body that grows is asked for once it is long, from its first byte on', () => {
  const asked: number[] = []
  const budget = { take: (bytes: number) => asked.push(bytes) < 3 }
  let at = 0
  const results = [UNASKED_BYTES, UNASKED_BYTES + 1, UNASKED_BYTES + 5, UNASKED_BYTES + 9].map(to => {
    const may = mayGrow(budget, at, to)
    at = to
    return may
  })
  expect(results).toEqual([true, true, true, false])
  expect(asked).toEqual([UNASKED_BYTES + 1, 4, 4])
  expect(mayGrow(undefined, 0, 2 ** 40)).toBe(true)
})
