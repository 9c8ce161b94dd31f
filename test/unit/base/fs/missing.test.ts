/** What does not exist is distinguished from what cannot be read, on real paths: below a file, in a loop of links, and a folder read as a file. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isMissing, namesIn, readIfPresent, unlessMissing } from '../../../../src/base/fs/missing.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'missing-'))
  writeFileSync(join(dir, 'file'), 'text')
  symlinkSync('loop', join(dir, 'loop'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

it('has no content and no names', async () => {
  expect(readIfPresent(join(dir, 'none'))).toBeUndefined()
  expect(await unlessMissing(readFile(join(dir, 'none')))).toBeUndefined()
  expect(await namesIn(join(dir, 'none'))).toEqual([])
  expect(readIfPresent(join(dir, 'file'))?.toString()).toBe('text')
  expect(await unlessMissing(readFile(join(dir, 'file'), 'utf8'))).toBe('text')
  expect((await namesIn(dir)).sort()).toEqual(['file', 'loop'])
})

it.each(['file/below', 'loop', ''])('is not a path that cannot be read: "%s"', async path => {
  const whole = join(dir, path)
  expect(() => readIfPresent(whole)).toThrow(/ENOTDIR|ELOOP|EISDIR/)
  await expect(unlessMissing(readFile(whole))).rejects.toThrow(/ENOTDIR|ELOOP|EISDIR/)
  if (path !== '') await expect(namesIn(whole)).rejects.toThrow(/ENOTDIR|ELOOP/)
})

it('is not any other error', () => {
  for (const error of [new Error('x'), Object.assign(new Error('x'), { code: 'EACCES' })])
    expect(isMissing(error)).toBe(false)
})
