/** The reader of a spool, and its retention, while the file system refuses a call: nothing is delivered twice, nothing is lost without a count. */
import { readdirSync, unlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { decodeEvent } from '../../../../src/data-plane/metering/event-codec.ts'
import { EventSink } from '../../../../src/data-plane/metering/event-sink.ts'
import { Retention } from '../../../../src/data-plane/metering/spool/retention.ts'
import type { SpoolReader } from '../../../../src/data-plane/metering/spool/spool-reader.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { failing } from '../../../fixtures/failing-disk.ts'
import { aCall, anOrigin, aReader, aWriter, drain, spoolDirectory } from '../../../fixtures/metering.ts'

const SOON = { timeout: 15_000, interval: 5 }
const EVENTS = 60

/** A spool of one writer that has ended, in several segments. */
async function written(): Promise<string> {
  const directory = spoolDirectory()
  const writer = aWriter(directory, { segmentBytes: 2_000, durability: 'sync' })
  for (let number = 1; number <= EVENTS; number++)
    await writer.record(anOrigin(), aCall({ requestId: String(number) }))
  writer.close()
  return directory
}

const segmentsOf = (directory: string) =>
  readdirSync(directory)
    .filter(name => name.endsWith('.events'))
    .sort()
const idOf = (bytes: Uint8Array) => decodeEvent(bytes).request_id
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index))

let end = () => {}
afterEach(() => end())

describe('a reader', () => {
  it.each([true, false])(
    'that cannot list the segments at a commit keeps its position (removes: %s)',
    async removes => {
      const directory = await written()
      const reader = aReader(directory, removes)
      reader.read(1)
      await reader.commit()
      reader.read(1)
      end = failing('readdirSync', 'EMFILE', path => path === directory)
      await expect(reader.commit()).rejects.toThrow('EMFILE')
      expect(() => reader.read(1)).toThrow('EMFILE')
      end()
      await reader.commit()
      expect(drain(aReader(directory)).map(idOf)).toEqual(numbers(3, EVENTS))
      expect(drain(reader).map(idOf)).toEqual(numbers(3, EVENTS))
    },
  )

  it('that could not list the segments counts a later loss', async () => {
    const directory = await written()
    const reader = aReader(directory, true)
    reader.read(1)
    end = failing('readdirSync', 'EMFILE', path => path === directory)
    await expect(reader.commit()).rejects.toThrow('EMFILE')
    end()
    const lost = segmentsOf(directory)[0]!
    unlinkSync(join(directory, lost))
    const left = drain(reader).length
    expect(left).toBeLessThan(EVENTS - 1)
    expect(reader.counts.damaged).toBe(EVENTS - 1 - left)
  })

  it('that cannot open its cursor does not start from the beginning', async () => {
    const directory = await written()
    const before = aReader(directory)
    drain(before)
    await before.commit()
    end = failing('readFileSync', 'EMFILE', path => String(path).endsWith('.cursor'))
    const reader = aReader(directory)
    expect(() => reader.read(1)).toThrow('EMFILE')
    await expect(reader.commit()).rejects.toThrow('EMFILE')
    end()
    expect(drain(reader)).toEqual([])
  })

  it('that cannot open a segment waits for it, in the order of the writer', async () => {
    const directory = await written()
    const [first] = segmentsOf(directory)
    end = failing('openSync', 'EACCES', path => basename(String(path)) === first)
    const reader = aReader(directory)
    expect(() => reader.read(1)).toThrow('EACCES')
    end()
    expect(drain(reader).map(idOf)).toEqual(numbers(1, EVENTS))
    expect(reader.counts.damaged).toBe(0)
  })

  it('that cannot remove what was delivered does not deliver it again', async () => {
    const directory = await written()
    const reader = aReader(directory, true)
    expect(drain(reader)).toHaveLength(EVENTS)
    end = failing('unlinkSync', 'EACCES', path => String(path).endsWith('.events'))
    await expect(reader.commit()).rejects.toThrow('EACCES')
    expect(drain(reader)).toEqual([])
    end()
    await reader.commit()
    expect(segmentsOf(directory)).toEqual([])
    expect(reader.counts).toEqual({ read: EVENTS, damaged: 0 })
  })
})

it('the delivery reports a spool whose segments cannot be listed, and delivers each event once', async () => {
  const directory = await written()
  const faults: (string | undefined)[] = []
  const taken: string[] = []
  const sink = new EventSink({
    source: aReader(directory, true),
    take: async events => {
      taken.push(...events.map(({ bytes }) => idOf(bytes)))
      // the commit of this batch fails
      if (taken.length === 10) end = failing('readdirSync', 'EMFILE', path => path === directory)
      return events.length
    },
    taker: 'Kafka',
    maxBatch: 1,
    onFault: fault => faults.push(fault),
    log: SILENT,
  })
  await expect.poll(() => faults.length, SOON).toBeGreaterThan(0)
  expect(faults.every(fault => fault?.includes('metering spool'))).toBe(true)
  end()
  await expect.poll(() => faults.at(-1), SOON).toBeUndefined()
  await expect.poll(() => taken.length, SOON).toBe(EVENTS)
  await sink.close()
  expect(taken).toEqual(numbers(1, EVENTS))
})

describe('retention', () => {
  function retain(directory: string, reader: SpoolReader) {
    const faults: (string | undefined)[] = []
    const onFault = (error: Error | undefined) => void faults.push(error?.message)
    return { faults, retention: new Retention({ directory, maxBytes: 0, spareBytes: 0, reader, onFault }) }
  }

  it('keeps a segment whose unread events cannot be counted now, and counts them later', async () => {
    const directory = await written()
    const last = segmentsOf(directory).at(-1)!
    const { retention, faults } = retain(directory, aReader(directory))
    end = failing('openSync', 'EMFILE', path => basename(String(path)) === last)
    const dropped = retention.enforce()
    expect(segmentsOf(directory)).toEqual([last])
    expect(dropped).toBeLessThan(EVENTS)
    retention.enforce()
    expect(faults).toEqual(['EMFILE: openSync'])
    end()
    expect(dropped + retention.enforce()).toBe(EVENTS)
    expect(retention.counts).toEqual({ dropped: EVENTS, bytes: 0, segments: 0 })
    expect(faults).toEqual(['EMFILE: openSync', undefined])
  })

  it.each([
    ['readdirSync', 'EMFILE'],
    ['unlinkSync', 'EACCES'],
  ] as const)('drops nothing while %s fails, and goes on afterwards', async (call, code) => {
    const directory = await written()
    const before = segmentsOf(directory)
    const reader = aReader(directory)
    const { retention, faults } = retain(directory, reader)
    end = failing(call, code, path => String(path).startsWith(directory))
    expect(retention.enforce()).toBe(0)
    end()
    expect(faults).toEqual([`${code}: ${call}`])
    expect(segmentsOf(directory)).toEqual(before)
    expect(retention.enforce()).toBe(EVENTS)
    expect(faults).toEqual([`${code}: ${call}`, undefined])
    expect(drain(reader)).toEqual([])
    expect(reader.counts.damaged).toBe(0)
  })
})
