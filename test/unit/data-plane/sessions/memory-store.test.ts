/** Sessions in memory, with a set clock: which are alive, which are evicted when the store is full, and the keys that sign their ids. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { fileKeyRing } from '../../../../src/data-plane/sessions/key-ring.ts'
import { MemorySessionStore } from '../../../../src/data-plane/sessions/memory/store.ts'
import { openSessions } from '../../../../src/data-plane/sessions/open-sessions.ts'
import { mintSessionId, readSessionId } from '../../../../src/data-plane/sessions/session-id.ts'
import type { SessionFacts } from '../../../../src/data-plane/sessions/session-store.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { noDamage } from '../../../fixtures/no-damage.ts'

const TTL_MS = 30 * 60_000
const DAY_MS = 86_400_000
const T0 = 1_700_000_000_000
const FACTS: SessionFacts = {
  protocolVersion: '2025-06-18',
  origin: 'initialize',
  elicitation: false,
  owner: '',
  createdAtMs: T0,
}
const dir = mkdtempSync(join(tmpdir(), 'sessions-'))
afterAll(() => rmSync(dir, { recursive: true }))

let rings = 0
function open(maxSessions = 10) {
  const clock = { ms: T0 }
  const now = () => clock.ms
  const keys = fileKeyRing(join(dir, `ring-${rings++}.json`), now)
  return { clock, store: new MemorySessionStore({ keys, ttlMs: TTL_MS, maxSessions, now }) }
}

describe('a session in memory', () => {
  it('outlasts the sweeps while it is young or has a stream, and stays ended', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { clock, store } = open()
      const [idle, streaming, ended] = [store.create(FACTS), store.create(FACTS), store.create(FACTS)]
      store.setStreaming(streaming.id, 'legacy', true)
      store.end(ended.id)
      clock.ms = T0 + TTL_MS
      vi.advanceTimersByTime(30_000)
      expect(store.find(idle.id, clock.ms)).toBeDefined()
      expect(store.find(ended.id, clock.ms)).toBeUndefined()
      clock.ms = T0 + 3 * TTL_MS
      vi.advanceTimersByTime(30_000)
      expect(store.find(streaming.id, clock.ms)).toBeDefined()
      expect(store.find(idle.id, clock.ms)).toBeUndefined()
      store.close()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it('is known by its owner after the sweeps of its TTL', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const { clock, store } = open()
      const session = store.create(FACTS)
      expect(store.claim(session, 'ann')).toBe(true)
      clock.ms = T0 + TTL_MS
      vi.advanceTimersByTime(30_000)
      expect(store.find(session.id, clock.ms)?.owner).toBe('ann')
      store.close()
    } finally {
      vi.useRealTimers()
    }
  })

  it('is not known to a store whose keys have not signed it', () => {
    const [{ store: one }, { store: two }] = [open(), open()]
    const { id } = one.create(FACTS)
    expect(two.find(id, T0)).toBeUndefined()
  })

  it('lives for its TTL after the last use, and not a millisecond longer', () => {
    const { store } = open()
    const [one, two] = [store.create(FACTS), store.create(FACTS)]
    expect(store.find(one.id, T0 + TTL_MS)).toBeDefined()
    expect(store.find(two.id, T0 + TTL_MS + 1)).toBeUndefined()
  })

  it('counts as active for its TTL, as a zombie after a third of it, as neither with a stream', () => {
    const { store } = open()
    const { id } = store.create(FACTS)
    const counts = (afterMs: number) => {
      const { active_sessions, zombie_sessions } = store.statistics(T0 + afterMs)
      return [active_sessions, zombie_sessions]
    }
    expect([0, TTL_MS / 3, TTL_MS / 3 + 1, TTL_MS, TTL_MS + 1].map(counts)).toEqual([
      [1, 0],
      [1, 0],
      [1, 1],
      [1, 1],
      [0, 0],
    ])
    for (const kind of ['legacy', 'standalone'] as const) {
      store.setStreaming(id, kind, true)
      expect(counts(10 * TTL_MS)).toEqual([1, 0])
      expect(store.find(id, T0 + 10 * TTL_MS)?.legacyStream).toBe(kind === 'legacy')
      store.setStreaming(id, kind, false)
    }
    expect(store.statistics(T0).total_created).toBe(1)
  })

  it('of a stream ends with its last legacy stream', () => {
    const { store } = open()
    const { id } = store.create({ ...FACTS, origin: 'stream' })
    store.setStreaming(id, 'legacy', true)
    store.setStreaming(id, 'legacy', true)
    store.setStreaming(id, 'legacy', false)
    expect(store.find(id, T0)).toBeDefined()
    store.setStreaming(id, 'standalone', true)
    store.setStreaming(id, 'legacy', false)
    expect(store.find(id, T0)).toBeUndefined()
  })

  it('of a stream goes on while a stream of the other kind is opened and closed', () => {
    const { store } = open()
    const { id } = store.create({ ...FACTS, origin: 'stream' })
    for (const isOpen of [true, true, false]) {
      store.setStreaming(id, 'standalone', isOpen)
      expect(store.find(id, T0)).toBeDefined()
    }
  })

  it('with a stream is not the one that goes when the store is full', () => {
    const { store } = open(2)
    const { id } = store.create(FACTS)
    store.setStreaming(id, 'standalone', true)
    store.create(FACTS)
    store.create(FACTS)
    expect(store.statistics(T0 + 10 * TTL_MS).active_sessions).toBe(1)
  })

  it.each(['', 'aabbccddeeff0000', '0000aabbccddeeff'])('says in its id that it belongs to %j', owner => {
    const ring = fileKeyRing(join(dir, `owner-${owner}.json`), () => T0)
    expect(readSessionId(mintSessionId({ ...FACTS, owner }, ring), ring)).toEqual({ ...FACTS, owner })
  })

  it('that is not known can be neither claimed nor changed nor ended', () => {
    const { store } = open()
    const other = open().store.create(FACTS)
    expect(store.claim(other, 'x')).toBe(false)
    store.setStreaming(other.id, 'legacy', true)
    store.update(other.id, { protocolVersion: '2025-11-25', elicitation: true })
    expect(store.end(other.id)).toBe(false)
    expect(store.statistics(T0).active_sessions).toBe(0)
  })

  it('that was used last stays when the store is full', () => {
    const { store } = open(2)
    const [one, two] = [store.create(FACTS), store.create(FACTS)]
    store.find(one.id, T0)
    store.create(FACTS)
    store.claim(two, 'anyone')
    expect(store.claim(one, 'anyone')).toBe(true)
    expect(store.claim(two, 'anyone')).toBe(false)
  })
})

it('sessions that are used again after a restart are bounded, too', () => {
  const { store } = open(2)
  const before = Array.from({ length: 5 }, () => store.create(FACTS))
  for (const { id } of before) expect(store.find(id, T0)).toBeDefined()
  expect(store.statistics(T0).active_sessions).toBe(2)
  // one that is known takes no place of another
  for (const { id } of before.slice(-2)) expect(store.find(id, T0)).toBeDefined()
  expect(before.map(session => store.claim(session, 'anyone'))).toEqual([false, false, false, true, true])
})

it('ended ids are bounded, too: the oldest can be used again until its TTL has run out, the others not', () => {
  const { store, clock } = open(2)
  const ids = Array.from({ length: 5 }, () => {
    const { id } = store.create(FACTS)
    expect(store.end(id)).toBe(true)
    return id
  })
  const found = () => ids.map(id => store.find(id, clock.ms) !== undefined)
  expect(store.findExpired(ids, clock.ms)).toEqual(ids.slice(-2))
  expect(found().slice(-2)).toEqual([false, false])
  expect(store.find(ids[0]!, clock.ms)).toMatchObject({ id: ids[0], owner: '' })
  clock.ms += TTL_MS + 1
  expect(store.findExpired(ids, clock.ms)).toEqual(ids)
})

describe('the keys that sign ids', () => {
  it('rotate after a day; those before are still good', () => {
    const { clock, store } = open()
    const before = store.create(FACTS)
    clock.ms += DAY_MS
    const after = store.create({ ...FACTS, createdAtMs: clock.ms })
    expect(Buffer.from(after.id, 'base64url')[1]).toBe(Buffer.from(before.id, 'base64url')[1]! + 1)
    store.find(before.id, T0 + TTL_MS)
    expect(store.find(before.id, T0 + TTL_MS)).toBeDefined()
    expect(store.find(after.id, clock.ms)).toBeDefined()
  })

  it('are found by their id alone, and eight of them are kept', () => {
    const clock = { ms: T0 }
    const ring = fileKeyRing(join(dir, 'eight.json'), () => clock.ms)
    const keys = Array.from({ length: 10 }, () => {
      clock.ms += DAY_MS
      return ring.current()
    })
    expect(keys.map(key => ring.find(key.id)?.secret === key.secret)).toEqual([
      ...[false, false],
      ...Array.from({ length: 8 }, () => true),
    ])
    expect(ring.find(200)).toBeUndefined()
    // another ring on the same file, as of another process, reads the same
    const again = fileKeyRing(join(dir, 'eight.json'), () => clock.ms)
    expect(again.current().id).toBe(keys.at(-1)!.id)
    expect(Buffer.from(again.find(keys[5]!.id)!.secret)).toEqual(Buffer.from(keys[5]!.secret))
  })

  it('that cannot be read are not replaced: the start names the file', () => {
    const folder = join(dir, 'unreadable')
    const file = join(folder, 'ring.json')
    // a folder in place of the file: also root cannot read it
    mkdirSync(file, { recursive: true })
    expect(() => fileKeyRing(file)).toThrow(/ring\.json.*EISDIR/)
  })

  it('that cannot be saved sign as well, and are saved within a minute after they can be', () => {
    const clock = { ms: T0 }
    const folder = join(dir, 'unwritable')
    const file = join(folder, 'ring.json')
    const faults: Error[] = []
    const ring = fileKeyRing(
      file,
      () => clock.ms,
      noDamage,
      error => faults.push(error),
    )
    const first = ring.current()
    // a file in place of the folder: also root cannot write below it
    rmSync(folder, { recursive: true })
    writeFileSync(folder, '')
    clock.ms += DAY_MS
    const unsaved = ring.current()
    expect(unsaved).not.toBe(first)
    expect(ring.current()).toBe(unsaved)
    expect([first, unsaved].map(({ id }) => ring.find(id))).toEqual([first, unsaved])
    clock.ms += 60_000
    expect(ring.current()).toBe(unsaved)
    expect(faults).toEqual([expect.objectContaining({ code: expect.stringMatching(/ENOTDIR|EEXIST/) })])
    rmSync(folder)
    clock.ms += 59_999
    ring.current()
    expect(existsSync(file)).toBe(false)
    clock.ms += 1
    expect(ring.current()).toBe(unsaved)
    const again = fileKeyRing(file, () => clock.ms)
    expect(Buffer.from(again.current().secret)).toEqual(Buffer.from(unsaved.secret))
    // another outage is reported again
    rmSync(folder, { recursive: true })
    writeFileSync(folder, '')
    clock.ms += DAY_MS
    ring.current()
    expect(faults).toHaveLength(2)
  })

  it('that cannot be saved at the start end it', () => {
    const folder = join(dir, 'a-file')
    writeFileSync(folder, '')
    expect(() => fileKeyRing(join(folder, 'ring.json'), () => T0)).toThrow(/a-file/)
  })

  it('are made again where the file is damaged', () => {
    const file = join(dir, 'damaged.json')
    writeFileSync(file, '[{"id":')
    expect(fileKeyRing(file, () => T0).current().createdAtMs).toBe(T0)
  })
})

describe('opening without Redis', () => {
  it('keeps the keys in the data directory: ids are good after a restart', async () => {
    const options = {
      dataDir: dir,
      redis: undefined,
      ttlMs: TTL_MS,
      max: 1,
      log: SILENT,
      onDamage: noDamage,
      now: () => T0,
    }
    const first = await openSessions(options)
    const { id } = await first.sessions.create(FACTS)
    await first.sessions.close()
    const second = await openSessions(options)
    expect(await second.sessions.find(id, T0 + TTL_MS)).toMatchObject({ id, protocolVersion: '2025-06-18' })
    expect(second.keys.current().id).toBe(first.keys.current().id)
    await second.sessions.create(FACTS)
    expect((await second.sessions.statistics(T0))?.active_sessions).toBe(1)
    await second.sessions.close()
  })
})

it('a ring of an earlier version, without a checksum, is read', () => {
  const file = join(dir, 'earlier.json')
  const key = { id: 7, secret: Buffer.alloc(32, 1).toString('base64url'), createdAtMs: T0 }
  writeFileSync(file, JSON.stringify([key]))
  expect(fileKeyRing(file, () => T0, noDamage).current()).toMatchObject({ id: 7, createdAtMs: T0 })
})
