/** The budget of held bytes: what a call holds, and until when. */
import { describe, expect, it } from 'vitest'
import { Hold, heldBytes, mayGrow, UNASKED_BYTES } from '../../../src/net/held-bytes.ts'

const MIB = 1024 * 1024
const PARTY = { owner: 'a', part: 'b' }

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

describe('what a call holds', () => {
  it('is free when the response has left', () => {
    const held = heldBytes(64 * MIB)
    const { onEnd, leave } = response()
    const hold = new Hold(held, PARTY, { onEnd })
    expect(hold.take(MIB)).toBe(true)
    expect(held.held).toBe(4 * MIB)
    expect(hold.take(MIB)).toBe(true)
    leave()
    expect(held.held).toBe(0)
  })

  it('stays until each user has released it, also when the response has left before', () => {
    const held = heldBytes(64 * MIB)
    const { onEnd, leave } = response()
    const hold = new Hold(held, PARTY, { onEnd }).retain()
    hold.take(MIB)
    leave()
    hold.take(MIB)
    expect(held.held).toBe(8 * MIB)
    hold.release()
    expect(held.held).toBe(0)
  })

  it('is not taken twice where it was reserved, and more is taken beyond it', () => {
    const held = heldBytes(64 * MIB)
    const { onEnd, leave } = response()
    const hold = new Hold(held, PARTY, { onEnd })
    expect(hold.reserve(2 * MIB)).toBe(true)
    const after = [MIB / 2, MIB, MIB].map(bytes => [hold.take(bytes), held.held / MIB])
    expect(after).toEqual([
      [true, 8],
      [true, 8],
      [true, 10],
    ])
    expect(hold.reserve(16 * MIB)).toBe(false)
    leave()
    expect(held.held).toBe(0)
  })

  it('is nothing when it was refused or asked for nothing', () => {
    const held = heldBytes(4 * MIB)
    const { onEnd, leave } = response()
    const hold = new Hold(held, PARTY, { onEnd }).retain()
    expect(hold.take(2 * MIB)).toBe(false)
    hold.release()
    leave()
    expect(held.held).toBe(0)
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
