/** How often and how long renewed grants are written again, and how many are held. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { ConnectionStore } from '../../../../../src/net/egress/oauth/connection-store.ts'
import { fileConnections } from '../../../../../src/net/egress/oauth/file-connections.ts'
import { UnwrittenGrants } from '../../../../../src/net/egress/oauth/unwritten-grants.ts'

const directory = mkdtempSync(join(tmpdir(), 'unwritten-grants-'))
const files = fileConnections(directory)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** The real store, which fails the first writes. */
function failing(writes: number): { store: ConnectionStore; attempts: () => number } {
  let attempts = 0
  const store: ConnectionStore = {
    ...files,
    replace: (...args) => (++attempts <= writes ? Promise.reject(new Error('full')) : files.replace(...args)),
  }
  return { store, attempts: () => attempts }
}

function held(sealed = 'next') {
  const calls = { unlocked: 0, revoked: 0 }
  const grant = {
    granted: { name: sealed },
    sealed,
    before: 'before',
    unlock: async () => void calls.unlocked++,
    revoke: async () => void calls.revoked++,
  }
  return { calls, grant }
}

/** The pairs of held and lost that were reported. */
function recording() {
  const reported: (readonly [number, number])[] = []
  return { reported, report: (held: number, lost: number) => void reported.push([held, lost]) }
}

const WAITS = { firstWaitMs: 1, maxWaitMs: 4 }

it('writes again until the store takes it, and unlocks then', async () => {
  await files.write('taken', 'before')
  const { store, attempts } = failing(5)
  const { grant, calls } = held()
  const { report, reported } = recording()
  const grants = new UnwrittenGrants(report, WAITS)
  grants.hold(store, 'taken', grant)
  expect(grants.get('taken')).toBe(grant)
  await expect.poll(() => calls.unlocked, { timeout: 20_000 }).toBe(1)
  expect(grants.get('taken')).toBeUndefined()
  expect([attempts(), calls.revoked, await files.read('taken')]).toEqual([6, 0, 'next'])
  expect(reported).toEqual([
    [1, 0],
    [0, 0],
  ])
})

it.each([
  ['attempts', { maxAttempts: 3 }, 3],
  ['time', { maxMs: 0 }, 0],
])('gives a grant up after a bounded number of %s', async (_, bound, expected) => {
  await files.write('refused', 'before')
  const { store, attempts } = failing(Number.POSITIVE_INFINITY)
  const { grant, calls } = held()
  const { report, reported } = recording()
  const grants = new UnwrittenGrants(report, { ...WAITS, ...bound })
  grants.hold(store, 'refused', grant)
  await expect.poll(() => calls.unlocked, { timeout: 20_000 }).toBe(1)
  expect(grants.get('refused')).toBeUndefined()
  expect([attempts(), calls.revoked, await files.read('refused')]).toEqual([expected, 0, 'before'])
  expect(reported).toEqual([
    [1, 0],
    [0, 1],
  ])
})

it('revokes a grant whose connection was removed, and not one that another has replaced', async () => {
  const { report, reported } = recording()
  const grants = new UnwrittenGrants(report, WAITS)
  const [removed, replaced] = [held(), held()]
  await files.write('replaced', 'another')
  grants.hold(failing(2).store, 'removed', removed.grant)
  grants.hold(failing(2).store, 'replaced', replaced.grant)
  await expect.poll(() => removed.calls.unlocked + replaced.calls.unlocked, { timeout: 20_000 }).toBe(2)
  expect([removed.calls.revoked, replaced.calls.revoked]).toEqual([1, 0])
  expect([await files.read('removed'), await files.read('replaced')]).toEqual([undefined, 'another'])
  expect(reported.at(-1)).toEqual([0, 0])
})

it('holds a bounded number, drops the oldest, and does not write what was dropped', async () => {
  await files.write('oldest', 'before')
  await files.write('dropped', 'before')
  const { report, reported } = recording()
  const grants = new UnwrittenGrants(report, { ...WAITS, maxGrants: 2 })
  const all = ['oldest', 'dropped', 'last'].map(key => ({ key, ...held() }))
  for (const { key, grant } of all) grants.hold(files, key, grant)
  grants.drop('dropped')
  expect(all.map(({ key }) => grants.get(key) !== undefined)).toEqual([false, false, true])
  await expect.poll(() => all.map(({ calls }) => calls.unlocked), { timeout: 20_000 }).toEqual([1, 1, 1])
  expect([await files.read('oldest'), await files.read('dropped')]).toEqual(['before', 'before'])
  expect(reported).toEqual([
    [1, 0],
    [2, 0],
    [2, 1],
    [1, 1],
    [0, 1],
  ])
})
