/** Sealed texts: they open where they were sealed, with the key they were sealed with, unchanged; and nowhere else. */
import { expect, it } from 'vitest'
import { createSealer, NO_SEALER } from '../../../../src/base/secrets/sealer.ts'

const sealer = createSealer('a secret of this deployment')

it('opens what it sealed, never twice the same', () => {
  for (const text of ['', 'x', 'schlüssel 🔑', 'y'.repeat(10_000)]) {
    const [first, second] = [sealer.seal(text, 'whk_1'), sealer.seal(text, 'whk_1')]
    expect(first).not.toBe(second)
    expect(Buffer.from(first, 'base64').includes('yyyy')).toBe(false)
    expect(createSealer('a secret of this deployment').open(first, 'whk_1')).toBe(text)
  }
})

it('opens nothing that was moved, changed, cut, or sealed under another key', () => {
  const sealed = sealer.seal('secret', 'whk_1')
  const bytes = Buffer.from(sealed, 'base64')
  expect(() => sealer.open(sealed, 'whk_2')).toThrow()
  expect(() => createSealer('another').open(sealed, 'whk_1')).toThrow()
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at]! ^= 1
    expect(() => sealer.open(changed.toString('base64'), 'whk_1')).toThrow()
    expect(() => sealer.open(bytes.subarray(0, at).toString('base64'), 'whk_1')).toThrow()
  }
})

it('identifies its key by 16 hex digits, and seals nothing without a key', () => {
  expect(sealer.keyId).toMatch(/^[0-9a-f]{16}$/)
  expect(createSealer('another').keyId).not.toBe(sealer.keyId)
  expect(() => NO_SEALER.seal('x', 'y')).toThrow(/SECRETS_KEY/)
})
