/** The host's constants are the kernel's, and words of the header that only the host uses are free there. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as host from '../../../../src/data-plane/quota/memory/abi.ts'
import { HEAD_EPOCH, HEAD_SKEW } from '../../../../src/data-plane/quota/memory/region.ts'

const source = readFileSync(new URL('../../../../assembly/window-abi.ts', import.meta.url), 'utf8')
const kernel = new Map(
  [...source.matchAll(/^export const ([A-Z_]+): i(?:32|64) = (-?[\d_]+)$/gm)].map(match => [
    match[1]!,
    Number(match[2]!.replaceAll('_', '')),
  ]),
)

test('every constant of the host stands in the kernel with the same value', () => {
  const constants = Object.entries(host)
  expect(constants.length).toBeGreaterThan(40)
  for (const [name, value] of constants) expect([name, kernel.get(name)]).toEqual([name, value])
})

test('the words of the header that only the host uses are free in the kernel', () => {
  const taken = [...kernel].filter(([name]) => name.startsWith('HEAD_')).map(([, offset]) => offset)
  for (const offset of [HEAD_EPOCH, HEAD_SKEW]) {
    expect(offset % 8).toBe(0)
    expect(offset).toBeGreaterThanOrEqual(kernel.get('HEAD_SEED')! + 16)
    expect(offset + 8).toBeLessThanOrEqual(kernel.get('HEAD_CONSUMERS')!)
    expect(taken).not.toContain(offset)
  }
})
