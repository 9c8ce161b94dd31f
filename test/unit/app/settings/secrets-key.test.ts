/** `SECRETS_KEY` is refused by name when it is too short. In its absence a key file is made and kept; a damaged one is refused, not replaced. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SettingsError } from '../../../../src/app/settings.ts'
import { keptKey } from '../../../../src/base/secrets/key-file.ts'
import { readSettings } from '../../../fixtures/settings.ts'

let directory: string
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'toolgate-key-'))
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

it('is optional, and at least 32 characters', () => {
  expect(readSettings({}).secretsKey).toBeUndefined()
  expect(readSettings({ SECRETS_KEY: 'k'.repeat(32) }).secretsKey).toBe('k'.repeat(32))
  try {
    readSettings({ SECRETS_KEY: 'short-and-secret' })
    expect.unreachable()
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    expect((error as Error).message).toMatch(/SECRETS_KEY/)
    expect((error as Error).message).not.toContain('short-and-secret')
  }
})

it('is made once, readable by its owner alone, and read from then on', () => {
  const path = join(directory, 'data', 'secrets.key')
  const made = keptKey(path)
  expect(made.fresh).toBe(true)
  expect(Buffer.from(made.key, 'base64')).toHaveLength(32)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(directory, 'data'))).toEqual(['secrets.key'])
  expect(keptKey(path)).toEqual({ key: made.key, fresh: false })
  expect(readFileSync(path, 'utf8')).toMatch(/^sha256:[0-9a-f]{16} [A-Za-z0-9+/=]{44}\n$/)
})

it('may be written by an operator, without a checksum', () => {
  const path = join(directory, 'own.key')
  writeFileSync(path, `${'k'.repeat(43)}=\n`)
  expect(keptKey(path)).toEqual({ key: `${'k'.repeat(43)}=`, fresh: false })
})

it('with any flipped bit is refused', () => {
  const path = join(directory, 'flipped.key')
  keptKey(path)
  const whole = readFileSync(path)
  for (let bit = 0; bit < (whole.length - 1) * 8; bit++) {
    const damaged = Buffer.from(whole)
    damaged[bit >> 3]! ^= 1 << (bit & 7)
    writeFileSync(path, damaged)
    expect(() => keptKey(path), `bit ${bit}`).toThrow(/damaged or contains no key/)
  }
})

it('is not replaced when what is there is not a key', () => {
  const path = join(directory, 'damaged.key')
  writeFileSync(path, 'cut')
  expect(() => keptKey(path)).toThrow(/damaged\.key is damaged or contains no key.*SECRETS_KEY/)
  expect(readFileSync(path, 'utf8')).toBe('cut')
})
