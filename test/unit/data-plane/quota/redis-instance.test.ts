/** The identity of an instance: new without a directory; in one, kept over restarts, and refused when its file is damaged. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { instanceIn } from '../../../../src/data-plane/quota/redis/instance.ts'

describe('the identity of an instance', () => {
  let dir: string
  let file: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'instance-'))
    file = join(dir, 'instance')
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('is new without a directory', () => {
    const [one, two] = [instanceIn(undefined), instanceIn(undefined)]
    expect([one.incarnation, two.incarnation]).toEqual([1, 1])
    expect(one.id).toMatch(/^[\w-]{12}$/)
    expect(one.id).not.toBe(two.id)
  })

  it('stays in a directory, where every start counts', () => {
    const { id, incarnation } = instanceIn(dir)
    expect(id).toMatch(/^[\w-]{12}$/)
    expect(incarnation).toBe(1)
    expect([instanceIn(dir), instanceIn(dir)]).toEqual([
      { id, incarnation: 2 },
      { id, incarnation: 3 },
    ])
    expect(readdirSync(dir)).toEqual(['instance'])
  })

  it('is read from a file of an earlier version, which has no check', () => {
    writeFileSync(file, '{"id":"abc","incarnation":4}')
    expect(instanceIn(dir)).toEqual({ id: 'abc', incarnation: 5 })
  })

  it.each([
    ['empty', ''],
    ['cut off', '{"id":"ab'],
    ['of another type', '[]'],
    ['null', 'null'],
    ['without an id', '{"incarnation":4}'],
    ['with an empty id', '{"id":"","incarnation":4}'],
    ['without a count', '{"id":"abc"}'],
    ['with half a count', '{"id":"abc","incarnation":1.5}'],
  ])('is refused when the file is %s', (_, text) => {
    writeFileSync(file, text)
    expect(() => instanceIn(dir)).toThrow(`${file} is damaged. Remove the file`)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('is refused when one character has changed', () => {
    instanceIn(dir)
    instanceIn(dir)
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace('"incarnation":2', '"incarnation":1'))
    expect(() => instanceIn(dir)).toThrow('is damaged')
  })
})
