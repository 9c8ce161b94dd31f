/** A journal on a disk that fails, beside a thread that holds a slot, and closed before a segment has all counters: no count is lost, and calls go on. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setImmediate as nextImmediate, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openJournalQuota } from '../../../../src/data-plane/quota/journal/journal-quota.ts'
import { listSegments, type SegmentFile } from '../../../../src/data-plane/quota/journal/segments.ts'
import { CONSUMER_STRIDE } from '../../../../src/data-plane/quota/memory/abi.ts'
import { failing } from '../../../fixtures/failing-disk.ts'
import { passMidnight } from '../../../fixtures/same-day.ts'
import { crashed, newDirectory } from './journal-directory.ts'

const SMALL = { consumers: 64, toolBuckets: 1, listed: 64, segmentBytes: 16_384 }
const LIMITS = { perDay: 1_000_000 }
/** `Slot.lock` in assembly/window-slot.ts. */
const SLOT_LOCK = 24
/** Where the head of a segment has the number of its bytes that are on the disk. */
const SYNCED_AT = 8

type OpenQuota = ReturnType<typeof openJournalQuota>

function take(quota: OpenQuota, key: string): boolean {
  const response = quota.take({ key, limits: LIMITS, nowMs: Date.now() })
  expect(response).toMatchObject({ granted: true })
  if (response.granted) response.release()
  return response.granted
}

/** Calls until a note begins a further segment. The other counters are not in it before the next turn. */
function fillSegment(quota: OpenQuota, dir: string): void {
  const before = listSegments(dir).at(-1)!.number
  while (listSegments(dir).at(-1)!.number === before) expect(take(quota, 'busy')).toBe(true)
}

/** A timer may come before the immediate in which the journal writes its counters. */
async function nextTurns(): Promise<void> {
  await sleep(5)
  await nextImmediate()
}

function openFiles(dir: string): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(dir) && path.includes('notes-') ? [path] : []
    } catch {
      return []
    }
  })
}

function countAfterCrash(dir: string, key: string): number | undefined {
  const again = openJournalQuota({ dir: crashed(dir), ...SMALL })
  const count = again.statisticsOf(key)?.dailyCount
  void again.close()
  return count
}

let end = () => {}
beforeEach(() => passMidnight(20_000), 30_000)
afterEach(() => end())

describe('a disk that fails when a segment is full', () => {
  test('does not stop the journal: the next segment is used, and the full one is removed', async () => {
    const dir = newDirectory()
    const faults: string[] = []
    const quota = openJournalQuota({ dir, ...SMALL, onFault: error => faults.push(error.message) })
    expect(take(quota, 'quiet')).toBe(true)
    end = failing('fdatasyncSync', 'EIO')
    for (let segments = 0; segments < 3; segments++) {
      fillSegment(quota, dir)
      await nextTurns()
    }
    expect(faults).toEqual(Array(3).fill('EIO: fdatasyncSync'))
    expect(openFiles(dir)).toHaveLength(1)
    await expect.poll(() => listSegments(dir)).toHaveLength(1)
    end()
    expect(take(quota, 'busy')).toBe(true)
    expect(countAfterCrash(dir, 'quiet')).toBe(1)
    await quota.close()
  })

  test('leaves the full segment in use when no other can begin, and begins one later', async () => {
    const dir = newDirectory()
    const faults: string[] = []
    const quota = openJournalQuota({ dir, ...SMALL, onFault: error => faults.push(error.message) })
    const [first] = listSegments(dir)
    end = failing('writeSync', 'ENOSPC', (...args) => args[4] === 0)
    while (faults.length < 3) expect(take(quota, 'busy')).toBe(true)
    expect(listSegments(dir)).toEqual([first])
    expect(openFiles(dir)).toEqual([first!.path])
    end()
    fillSegment(quota, dir)
    await nextTurns()
    expect(faults.every(fault => fault.startsWith('ENOSPC'))).toBe(true)
    await expect.poll(() => listSegments(dir)).toHaveLength(1)
    expect(openFiles(dir)).not.toContain(first!.path)
    await quota.close()
  })

  test('keeps the full segment until the next one, with all counters, is on the disk', async () => {
    const dir = newDirectory()
    const faults: string[] = []
    const options = { dir, ...SMALL, syncMs: 5, onFault: (error: Error) => faults.push(error.message) }
    const quota = openJournalQuota(options)
    expect(take(quota, 'quiet')).toBe(true)
    end = failing('fdatasync', 'EIO')
    fillSegment(quota, dir)
    await expect.poll(() => faults.length).toBeGreaterThan(1)
    expect(listSegments(dir)).toHaveLength(2)
    end()
    await expect.poll(() => listSegments(dir)).toHaveLength(1)
    await quota.close()
  })

  test('keeps few full segments while the disk syncs nothing', async () => {
    const dir = newDirectory()
    const others: string[] = []
    const onFault = ({ message }: Error) => {
      if (!message.startsWith('EIO: fdatasync')) others.push(message)
    }
    const quota = openJournalQuota({ dir, ...SMALL, onFault })
    const ends = [failing('fdatasync', 'EIO'), failing('fdatasyncSync', 'EIO')]
    end = () => {
      for (const each of ends) each()
    }
    for (let segments = 0; segments < 12; segments++) {
      fillSegment(quota, dir)
      await nextTurns()
      expect(others).toEqual([])
      expect(listSegments(dir).length).toBeLessThanOrEqual(7)
    }
    end()
    await quota.close()
    expect(listSegments(dir)).toHaveLength(1)
  })

  test('at the start, with the counters of the segments before not yet on the disk, keeps these', async () => {
    const dir = newDirectory()
    const before = openJournalQuota({ dir, ...SMALL })
    expect(take(before, 'quiet')).toBe(true)
    await before.close()
    const [kept] = listSegments(dir)
    end = failing('fdatasyncSync', 'EIO')
    expect(() => openJournalQuota({ dir, ...SMALL })).toThrow('EIO')
    end()
    expect(listSegments(dir)).toContainEqual(kept)
    const again = openJournalQuota({ dir, ...SMALL })
    expect(again.statisticsOf('quiet')).toMatchObject({ dailyCount: 1 })
    await again.close()
  })

  test('retries the sync of notes while it fails', async () => {
    const dir = newDirectory()
    const faults: string[] = []
    const options = { dir, ...SMALL, syncMs: 5, onFault: (error: Error) => faults.push(error.message) }
    const quota = openJournalQuota(options)
    end = failing('fdatasync', 'EIO')
    expect(take(quota, 'quiet')).toBe(true)
    const [{ path }] = listSegments(dir) as [SegmentFile]
    // the head of a segment says how many of its bytes are on the disk
    const unsyncedBytes = () => {
      const bytes = readFileSync(path)
      return bytes.length - bytes.readDoubleLE(SYNCED_AT)
    }
    await expect.poll(() => faults.length).toBeGreaterThan(2)
    expect(unsyncedBytes()).toBeGreaterThan(0)
    end()
    await expect.poll(unsyncedBytes).toBe(0)
    await quota.close()
  })

  test('or at close: the directory is free and the counts are there', async () => {
    const dir = newDirectory()
    const quota = openJournalQuota({ dir, ...SMALL })
    expect(take(quota, 'quiet')).toBe(true)
    end = failing('fdatasyncSync', 'EIO')
    await expect(quota.close()).rejects.toThrow('EIO')
    end()
    expect(openFiles(dir)).toEqual([])
    const again = openJournalQuota({ dir, ...SMALL })
    expect(again.statisticsOf('quiet')).toMatchObject({ dailyCount: 1 })
    await again.close()
  })
})

test('a consumer whose slot another thread holds while a segment begins keeps its counts', async () => {
  const dir = newDirectory()
  const faults: string[] = []
  const quota = openJournalQuota({ dir, ...SMALL, onFault: error => faults.push(error.message) })
  expect(take(quota, 'quiet')).toBe(true)
  expect(take(quota, 'busy')).toBe(true)
  const { shared, plan } = quota.share
  const words = new Int32Array(shared.memory.buffer)
  const slot = shared.layout.quotaBase + plan.consumerSlots
  // slots are used in their order
  const lock = (slot + SLOT_LOCK) / 4
  expect(plan.consumerSlots % CONSUMER_STRIDE).toBe(0)
  Atomics.store(words, lock, 1)
  fillSegment(quota, dir)
  await nextTurns()
  expect(faults).toEqual([expect.stringMatching(/slot 0 .*locked/)])
  expect(countAfterCrash(dir, 'quiet')).toBe(1)
  Atomics.store(words, lock, 0)
  fillSegment(quota, dir)
  await nextTurns()
  await expect.poll(() => listSegments(dir)).toHaveLength(1)
  expect(countAfterCrash(dir, 'quiet')).toBe(1)
  await quota.close()
})

test('a journal that is closed before a new segment has all counters loses none', async () => {
  const dir = newDirectory()
  const quota = openJournalQuota({ dir, ...SMALL })
  expect(take(quota, 'quiet')).toBe(true)
  fillSegment(quota, dir)
  await quota.close()
  expect(listSegments(dir)).toHaveLength(1)
  const again = openJournalQuota({ dir, ...SMALL })
  expect(again.statisticsOf('quiet')).toMatchObject({ dailyCount: 1 })
  await again.close()
})
