/** The default of HELD_BYTES_MAX by limits of memory and heap, and values that are refused. */
import { totalmem } from 'node:os'
import { expect, it } from 'vitest'
import { readHeldBytesMax, readMemoryLimit } from '../../../../src/app/settings/held-bytes.ts'
import { Reader } from '../../../../src/app/settings/reader.ts'

const MIB = 1024 * 1024
const HEAP = 4096 * MIB

it.each([
  ['half of what 512 MiB leave', 512, HEAP, 128],
  ['half of what 4 GiB leave', 4096, HEAP, 1920],
  ['half of the heap', 24 * 1024, HEAP, 2048],
  ['one response, in less memory than a process needs', 128, HEAP, 32],
])('is %s', (_, memoryMib, heapBytes, expectedMib) => {
  const read = new Reader({})
  expect(readHeldBytesMax(read, 8 * MIB, memoryMib * MIB, heapBytes)).toBe(expectedMib * MIB)
  expect(read.faults).toEqual([])
})

it('must hold one response of a backend', () => {
  const read = new Reader({ HELD_BYTES_MAX: '31MiB' })
  readHeldBytesMax(read, 8 * MIB, 512 * MIB, HEAP)
  expect(read.faults).toMatchObject([{ name: 'HELD_BYTES_MAX', reason: 'is "31MiB".' }])
  expect(read.faults[0]!.fix).toContain('at least 32MiB')
})

it('takes the smallest of the limits of the process', () => {
  const limits = (data: string, space: string) =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax data size             ${data}            unlimited            bytes\nMax address space         ${space}            unlimited            bytes\n`
  expect(readMemoryLimit(limits('629145600', 'unlimited'))).toBe(629_145_600)
  expect(readMemoryLimit(limits('629145600', '1048576'))).toBe(1_048_576)
  expect(readMemoryLimit(limits('unlimited', 'unlimited'))).toBeLessThanOrEqual(totalmem())
  expect(readMemoryLimit('')).toBeGreaterThan(0)
})
