/** The journal's files: bounded in size, one for each thread, of one process at a time; damage is skipped or counts as used limits. */
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { joinJournalQuota, openJournalQuota } from '../../../../src/data-plane/quota/journal/journal-quota.ts'
import { listSegments } from '../../../../src/data-plane/quota/journal/segments.ts'
import { passMidnight } from '../../../fixtures/same-day.ts'
import { crashed, newDirectory } from './journal-directory.ts'

const SMALL = { consumers: 64, toolBuckets: 1, listed: 64 }
const limits = { perDay: 1_000_000 }
const HEADER_BYTES = 20

beforeEach(() => passMidnight(20_000), 30_000)

function notesOf(dir: string): string[] {
  return readdirSync(dir)
    .filter(file => file.endsWith('.log'))
    .map(file => join(dir, file))
}

function take(quota: ReturnType<typeof openJournalQuota>, key: string, calls: number): void {
  for (let i = 0; i < calls; i++) {
    const response = quota.take({ key, limits, nowMs: Date.now() })
    expect(response.granted).toBe(true)
    if (response.granted) response.release()
  }
}

describe('damage', () => {
  test('a last note torn at any byte costs that note alone', async () => {
    const dir = newDirectory()
    // what was not on the disk yet may be torn by a power failure
    const quota = openJournalQuota({ dir, ...SMALL, syncMs: 60_000 })
    take(quota, 'a', 1)
    const [path] = notesOf(dir)
    const one = statSync(path!).size
    take(quota, 'b', 1)
    const two = statSync(path!).size
    for (let length = one; length <= two; length += 1) {
      const copy = crashed(dir)
      const fd = openSync(notesOf(copy)[0]!, 'r+')
      ftruncateSync(fd, length)
      closeSync(fd)
      const again = openJournalQuota({ dir: copy, ...SMALL })
      expect(again.statisticsOf('a')?.dailyCount).toBe(1)
      expect(again.statisticsOf('b')?.dailyCount).toBe(length === two ? 1 : undefined)
      expect(again.restored.skippedBytes).toBe(length === two ? 0 : length - one)
      await again.close()
    }
    await quota.close()
  })

  test('bits that flip in a note never keep the other notes from being read', async () => {
    const dir = newDirectory()
    const quota = openJournalQuota({ dir, ...SMALL })
    for (let i = 0; i < 40; i++) take(quota, `consumer-${i}`, 1)
    const whole = readFileSync(notesOf(dir)[0]!)
    let found = 0
    for (let i = 0; i < 60; i++) {
      const copy = crashed(dir)
      const bytes = Buffer.from(whole)
      bytes[HEADER_BYTES + ((i * 7919) % (bytes.length - HEADER_BYTES))]! ^= 1 << (i % 8)
      writeFileSync(notesOf(copy)[0]!, bytes)
      const again = openJournalQuota({ dir: copy, ...SMALL })
      found += again.restored.consumers
      expect(again.restored.consumers).toBe(39)
      expect(again.restored.skippedBytes).toBeGreaterThan(0)
      await again.close()
    }
    expect(found).toBe(60 * 39)
    await quota.close()
  })

  const wrecks: [string, (bytes: Buffer) => Buffer][] = [
    ['emptied', () => Buffer.alloc(0)],
    [
      'truncated between two notes',
      bytes => bytes.subarray(0, (bytes.length - HEADER_BYTES) / 2 + HEADER_BYTES),
    ],
    ['truncated in a note', bytes => bytes.subarray(0, bytes.length - 5)],
    ['garbage', bytes => Buffer.alloc(bytes.length, 'x')],
    [
      'with a bit of the header flipped',
      bytes => Buffer.from(bytes.map((byte, i) => (i === 9 ? byte ^ 4 : byte))),
    ],
  ]
  test.each(wrecks)(
    'a segment that is %s: limits count as used, also after another start, until a reset',
    async (_, wreck) => {
      const dir = newDirectory()
      const plan = { perDay: 1_000, perMonth: 5_000, perMinute: 100 }
      const quota = openJournalQuota({ dir, ...SMALL })
      const granted = (of: typeof quota, key: string) => {
        const response = of.take({ key, limits: plan, nowMs: Date.now() })
        return response.granted || response.kind
      }
      expect(granted(quota, 'aa')).toBe(true)
      expect(granted(quota, 'bb')).toBe(true)
      await quota.close()
      const [path] = notesOf(dir)
      writeFileSync(path!, wreck(readFileSync(path!)))
      for (let start = 0; start < 2; start++) {
        const again = openJournalQuota({ dir, ...SMALL })
        expect(again.assumption?.reason).toContain(path)
        expect(granted(again, 'aa')).toBe('month')
        expect(granted(again, 'bb')).toBe('month')
        expect(granted(again, `new-${start}`)).toBe('month')
        await again.close()
      }
      const last = openJournalQuota({ dir, ...SMALL })
      expect(last.reset('aa')).toBe(true)
      expect(granted(last, 'aa')).not.toBe('month')
      expect(granted(last, 'bb')).toBe('month')
      await last.close()
    },
  )

  test.each(['', 'xxxx', '{"sinceMs":"1","reason":1}'])(
    'an `assumed` file with the content %j counts as damage found at that start, once',
    async content => {
      const dir = newDirectory()
      const startMs = Date.UTC(2030, 4, 30)
      const opened = async (unixMs: number) => {
        const quota = openJournalQuota({ dir, ...SMALL, unixMs: () => unixMs })
        await quota.close()
        return quota.assumption
      }
      expect(await opened(startMs)).toBeUndefined()
      writeFileSync(join(dir, 'assumed'), content)
      const found = await opened(startMs + 1_000)
      expect(found).toMatchObject({ sinceMs: startMs + 1_000 })
      expect(found?.reason).toContain(join(dir, 'assumed'))
      expect(await opened(startMs + 2_000)).toEqual(found)
      expect(await opened(Date.UTC(2030, 5, 2))).toBeUndefined()
      expect(readdirSync(dir)).not.toContain('assumed')
    },
  )

  test('a consumer whose counts were written after the damage keeps them', async () => {
    const dir = newDirectory()
    const quota = openJournalQuota({ dir, ...SMALL })
    take(quota, 'a', 1)
    take(quota, 'b', 1)
    await quota.close()
    const [path] = notesOf(dir)
    const bytes = readFileSync(path!)
    bytes[HEADER_BYTES + 40]! ^= 1
    writeFileSync(path!, bytes)
    const again = openJournalQuota({ dir, ...SMALL })
    expect(again.statisticsOf('a')).toBeUndefined()
    expect(again.take({ key: 'a', limits, nowMs: Date.now() })).toMatchObject({ granted: false, kind: 'day' })
    expect(again.statisticsOf('b')).toMatchObject({ dailyCount: 1 })
    await again.close()
  })

  test('a seed with a flipped bit is an error that names the file', async () => {
    const dir = newDirectory()
    const quota = openJournalQuota({ dir, ...SMALL })
    take(quota, 'a', 1)
    await quota.close()
    const seed = readFileSync(join(dir, 'seed'))
    seed[3]! ^= 16
    writeFileSync(join(dir, 'seed'), seed)
    expect(() => openJournalQuota({ dir, ...SMALL })).toThrow(/seed is damaged/)
  })

  test('a damaged seed is an error that names the fix; it is not replaced', async () => {
    const dir = newDirectory()
    await openJournalQuota({ dir, ...SMALL }).close()
    writeFileSync(join(dir, 'seed'), 'short')
    expect(() => openJournalQuota({ dir, ...SMALL })).toThrow(
      /seed has 5 bytes instead of 16\. Restore the file/,
    )
    // The lock was released.
    expect(readdirSync(dir)).not.toContain('lock')
  })
})

describe('size', () => {
  test('the files stay bounded however much is counted', async () => {
    const dir = newDirectory()
    const quota = openJournalQuota({ dir, ...SMALL, segmentBytes: 16_384 })
    let max = 0
    for (let round = 0; round < 60; round++) {
      for (let i = 0; i < 20; i++) {
        quota.reset(`consumer-${i}`)
        take(quota, `consumer-${i}`, 30)
      }
      await new Promise(resolve => setImmediate(resolve))
      max = Math.max(
        max,
        notesOf(dir).reduce((sum, path) => sum + statSync(path).size, 0),
      )
    }
    expect(max).toBeGreaterThan(16_384)
    expect(max).toBeLessThan(8 * 16_384)
    const again = openJournalQuota({ dir: crashed(dir), ...SMALL })
    for (let i = 0; i < 20; i++) expect(again.statisticsOf(`consumer-${i}`)?.dailyCount).toBe(30)
    await again.close()
    await quota.close()
    expect(notesOf(dir)).toHaveLength(1)
  })

  test('a table that has become smaller restores what fits, and counts what it drops', async () => {
    const dir = newDirectory()
    const quota = openJournalQuota({ dir, ...SMALL })
    for (let i = 0; i < 10; i++) take(quota, `consumer-${i}`, 1)
    await quota.close()
    const again = openJournalQuota({ dir, consumers: 4, toolBuckets: 1 })
    expect(again.restored).toMatchObject({ consumers: 4 })
    expect(again.restored.dropped).toBeGreaterThanOrEqual(6)
    await again.close()
  })

  test('a call whose note cannot be written is not granted, and the error is reported', async () => {
    const dir = newDirectory()
    const faults: string[] = []
    const quota = openJournalQuota({ dir, ...SMALL, onFault: error => faults.push(error.message) })
    take(quota, 'a', 1)
    await quota.close()
    expect(quota.take({ key: 'b', limits, nowMs: Date.now() })).toMatchObject({
      granted: false,
      cause: 'store_unavailable',
    })
    expect(faults[0]).toMatch(/is closed; no entry can be appended after close/)
    const again = openJournalQuota({ dir, ...SMALL })
    expect(again.statisticsOf('b')).toBeUndefined()
    await again.close()
  })
})

describe('threads', () => {
  test('have their segments listed in the order of their numbers, which is not that of their names', () => {
    const dir = newDirectory()
    mkdirSync(dir, { recursive: true })
    const names = ['notes-2-1.log', 'notes-1-10.log', 'notes-10-1.log', 'notes-1-9.log']
    for (const name of [...names, 'seed', 'notes-1-9.log.old']) writeFileSync(join(dir, name), '')
    expect(listSegments(dir).map(({ path, thread, number }) => [path, thread, number])).toEqual([
      [join(dir, 'notes-1-9.log'), 1, 9],
      [join(dir, 'notes-1-10.log'), 1, 10],
      [join(dir, 'notes-2-1.log'), 2, 1],
      [join(dir, 'notes-10-1.log'), 10, 1],
    ])
  })

  test('each writes a separate file, and the restore combines all', async () => {
    const dir = newDirectory()
    const one = openJournalQuota({ dir, ...SMALL, threads: 2 })
    const two = joinJournalQuota({ dir, share: one.share, thread: 1 })
    let granted = 0
    for (let i = 0; i < 3000; i++) {
      const response = (i % 2 === 0 ? one : two).take({
        key: 'a',
        limits: { perDay: 2500 },
        nowMs: Date.now(),
      })
      if (response.granted) granted++
    }
    expect(granted).toBe(2500)
    expect(notesOf(dir)).toHaveLength(2)
    const again = openJournalQuota({ dir: crashed(dir), ...SMALL })
    expect(again.statisticsOf('a')?.dailyCount).toBe(2500)
    await again.close()
    await two.close()
    await one.close()
    const last = openJournalQuota({ dir, ...SMALL })
    expect(last.statisticsOf('a')?.dailyCount).toBe(2500)
    await last.close()
  })
})

describe('lock', () => {
  test('a directory in use is refused by name, and available after close', async () => {
    const dir = newDirectory()
    const quota = openJournalQuota({ dir, ...SMALL })
    expect(() => openJournalQuota({ dir, ...SMALL })).toThrow(
      new RegExp(
        `${dir} is in use by process ${process.pid} on .*\\. Stop that process, or set DATA_DIR to another directory for this process`,
      ),
    )
    await quota.close()
    await openJournalQuota({ dir, ...SMALL }).close()
  })
})
