/** Channels of signals and their listeners, states of tasks, rings as text, and the sessions with MCP servers that a process keeps in files. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import {
  freshKey,
  type RingKey,
  readRing,
  reportUnsavedKeys,
  writeRing,
} from '../../../../src/data-plane/sessions/key-ring.ts'
import { fileServerSessions } from '../../../../src/data-plane/sessions/open-sessions.ts'
import { serverChannel, taskChannel } from '../../../../src/data-plane/sessions/session-store.ts'
import { SignalListeners } from '../../../../src/data-plane/sessions/signal-listeners.ts'
import { isEnded } from '../../../../src/data-plane/sessions/task-store.ts'

const T0 = 1_700_000_000_000
const dir = mkdtempSync(join(tmpdir(), 'channels-'))
afterAll(() => rmSync(dir, { recursive: true }))

describe('a channel', () => {
  it('of a task or of a session with a server differs from all others', () => {
    const channels = [
      'a',
      taskChannel('a'),
      taskChannel('b'),
      serverChannel({ caller: 'a', server: 'b' }),
      serverChannel({ caller: 'a', server: 'c' }),
      serverChannel({ caller: 'b', server: 'b' }),
    ]
    expect(new Set(channels).size).toBe(channels.length)
    for (const channel of channels) expect(channel).toEqual(expect.any(String))
  })

  it('is listed while it has a listener', () => {
    const listeners = new SignalListeners()
    const calls: string[] = []
    const stop = ['one', 'two'].map(name => listeners.listen('a', () => calls.push(name)))
    listeners.listen('b', () => {})
    expect(listeners.ids()).toEqual(['a', 'b'])
    expect(listeners.deliver('a', { kind: 'ended' } as never)).toBe(2)
    stop[0]!()
    expect(listeners.deliver('a', { kind: 'ended' } as never)).toBe(1)
    stop[1]!()
    expect([listeners.ids(), calls]).toEqual([['b'], ['one', 'two', 'two']])
  })
})

it('a task has ended when it is completed, failed or cancelled', () => {
  const states = ['working', 'input_required', 'completed', 'failed', 'cancelled'] as const
  expect(states.map(isEnded)).toEqual([false, false, true, true, true])
})

describe('keys of sessions', () => {
  it('are written as text, of which the newest eight are read again', () => {
    const keys: RingKey[] = []
    for (let made = 0; made < 10; made++) keys.unshift(freshKey(keys[0], T0 + made))
    const read = readRing(writeRing(keys))!
    expect(read.map(({ id }) => id)).toEqual([9, 8, 7, 6, 5, 4, 3, 2])
    expect(read.map(({ createdAtMs, secret }) => [createdAtMs, Buffer.from(secret).toString('hex')])).toEqual(
      keys.slice(0, 8).map(({ createdAtMs, secret }) => [createdAtMs, Buffer.from(secret).toString('hex')]),
    )
    expect(readRing('{"no":"ring"}')).toBeUndefined()
  })

  it('that cannot be saved are reported with the error', () => {
    const error = vi.fn()
    const fault = new Error('disk full')
    reportUnsavedKeys({ error } as never)(fault)
    expect(error).toHaveBeenCalledExactlyOnceWith(
      { err: fault },
      expect.stringContaining('session-keys.json'),
    )
  })
})

it('sessions with MCP servers outlast the process in files below DATA_DIR, for longer than those of callers', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  try {
    const clock = { ms: T0 }
    const open = () => fileServerSessions({ dataDir: dir, ttlMs: 60_000, now: () => clock.ms })
    const place = { caller: 'c1', server: 's1' }
    const session = { id: 'upstream-1', version: '2025-06-18', logging: false }
    await open().settle(place, session)
    expect(existsSync(join(dir, 'server-sessions'))).toBe(true)
    clock.ms += 60_000
    expect(await open().get(place)).toMatchObject({ id: 'upstream-1' })
  } finally {
    vi.useRealTimers()
  }
})
