/** When requests may share a connection, from the latency that was measured. */
import { describe, expect, it } from 'vitest'
import { LineGuard } from '../../../../../src/shared/egress/http1/line-guard.ts'

describe('the guard of lines', () => {
  it('allows 50 ms, and 8 times the median of responses that waited behind none', () => {
    const guard = new LineGuard()
    expect(guard.limitMs).toBe(50)
    for (let i = 0; i < 16; i++) guard.sample(i % 4 === 0 ? 10_000 : 20)
    expect(guard.limitMs).toBe(160)
    // an upstream that is slower from now on
    for (let i = 0; i < 16; i++) guard.sample(100)
    expect(guard.limitMs).toBe(800)
    for (let i = 0; i < 16; i++) guard.sample(1)
    expect(guard.limitMs).toBe(50)
  })

  it('pauses for longer each time, up to 30 s, and begins with 0.5 s again when sharing went well', () => {
    const guard = new LineGuard()
    let nowMs = 1000
    expect(guard.mayShare(nowMs)).toBe(true)
    guard.waited(50, nowMs)
    expect(guard.mayShare(nowMs)).toBe(true)
    for (const pauseMs of [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
      guard.waited(51, nowMs)
      // reports of the pause make it no longer
      guard.pause(nowMs + pauseMs / 2)
      expect(guard.mayShare(nowMs + pauseMs - 1)).toBe(false)
      nowMs += pauseMs
      expect(guard.mayShare(nowMs)).toBe(true)
    }
    nowMs += 60_001
    guard.pause(nowMs)
    expect(guard.mayShare(nowMs + 499)).toBe(false)
    expect(guard.mayShare(nowMs + 500)).toBe(true)
  })
})
