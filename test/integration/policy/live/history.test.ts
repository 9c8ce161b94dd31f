/**
 * The bundles that were in force, in a real directory: no revision is listed twice, also while it is kept again and after a kill in between; 20 are
 * kept. A history that cannot be read is an error.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { BundleHistory } from '../../../../src/policy/live/history.ts'
import { failingPromise } from '../../../fixtures/failing-disk.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'toolgate-history-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

it('lists a revision once, with the time when it was in force last, after a kill left two files of it', async () => {
  writeFileSync(join(dir, '1000-first.tar.gz'), 'old')
  writeFileSync(join(dir, '2000-second.tar.gz'), 'other')
  writeFileSync(join(dir, '3000-first.tar.gz'), 'new')
  const history = new BundleHistory(dir)
  expect(await history.list()).toEqual([
    { revision: 'first', since: 3000 },
    { revision: 'second', since: 2000 },
  ])
  expect(Buffer.from((await history.read('first'))!).toString()).toBe('new')
})

it('never lists a revision twice while it is kept again', async () => {
  const history = new BundleHistory(dir)
  let isKeeping = true
  const seen: string[][] = []
  const looking = (async () => {
    while (isKeeping) seen.push((await history.list()).map(({ revision }) => revision))
  })()
  for (let since = 1; since <= 200; since++)
    await history.keep({ revision: since % 2 === 0 ? 'even' : 'odd', since }, Buffer.from('bundle'))
  isKeeping = false
  await looking
  expect(seen.filter(revisions => new Set(revisions).size < revisions.length)).toEqual([])
  expect(await history.list()).toEqual([
    { revision: 'even', since: 200 },
    { revision: 'odd', since: 199 },
  ])
})

it('keeps the last 20 bundles', async () => {
  const history = new BundleHistory(dir)
  for (let since = 1; since <= 25; since++)
    await history.keep({ revision: `r${since}`, since }, Buffer.from('bundle'))
  expect((await history.list()).map(({ since }) => since)).toEqual(
    Array.from({ length: 20 }, (_, n) => 25 - n),
  )
})

it('is not taken for empty while it cannot be read', async () => {
  expect(await new BundleHistory(join(dir, 'none')).list()).toEqual([])
  writeFileSync(join(dir, 'file'), '')
  const unreadable = new BundleHistory(join(dir, 'file'))
  await expect(unreadable.list()).rejects.toThrow(/cannot be read \(ENOTDIR.*Check the disk/)
  await expect(unreadable.read('first')).rejects.toThrow(/cannot be read/)
  const history = new BundleHistory(dir)
  await history.keep({ revision: 'first', since: 1000 }, Buffer.from('bundle'))
  const end = failingPromise('readFile', 'EIO', path => String(path).endsWith('1000-first.tar.gz'))
  try {
    await expect(history.read('first')).rejects.toThrow(/cannot be read \(EIO/)
  } finally {
    end()
  }
  expect(await history.read('second')).toBeUndefined()
  expect(Buffer.from((await history.read('first'))!).toString()).toBe('bundle')
})
