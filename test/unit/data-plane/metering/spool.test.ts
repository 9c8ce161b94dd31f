/** The spool: what is written is read, once, in order; damage costs what it hit and is counted; the oldest segments above the limit are dropped. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../../../src/data-plane/metering/event-codec.ts'
import { Retention } from '../../../../src/data-plane/metering/spool/retention.ts'
import { aCall, anOrigin, aReader, aWriter, drain, spoolDirectory } from '../../../fixtures/metering.ts'

const origin = anOrigin()
const ids = (events: readonly Uint8Array[]): string[] => events.map(bytes => decodeEvent(bytes).request_id)
const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index))

/** A spool of one writer that has ended. */
function written(count: number, segmentBytes?: number): string {
  const directory = spoolDirectory()
  const writer = aWriter(directory, segmentBytes === undefined ? {} : { segmentBytes })
  for (let index = 1; index <= count; index++) writer.record(origin, aCall({ requestId: String(index) }))
  writer.close()
  return directory
}

function segments(directory: string): string[] {
  return readdirSync(directory)
    .filter(name => name.endsWith('.events'))
    .sort()
    .map(name => join(directory, name))
}

/** A spool of several segments: each event waits for the disk, so that segments can change. */
async function writtenInSegments(count: number, segmentBytes: number): Promise<string> {
  const directory = spoolDirectory()
  const writer = aWriter(directory, { segmentBytes, durability: 'sync' })
  for (let index = 1; index <= count; index++)
    await writer.record(origin, aCall({ requestId: String(index) }))
  writer.close()
  return directory
}

describe('writing and reading', () => {
  it('gives every event once, in order, also to a reader that comes back', async () => {
    const directory = written(2500)
    const first = aReader(directory)
    const half = first.read(1000)
    expect(ids(half.map(event => event.bytes))).toEqual(numbers(1, 1000))
    await first.commit()
    const second = aReader(directory)
    expect(ids(drain(second))).toEqual(numbers(1001, 2500))
    expect(second.counts.damaged).toBe(0)
  })

  it('gives what was not committed again', () => {
    const directory = written(10)
    expect(drain(aReader(directory))).toHaveLength(10)
    expect(drain(aReader(directory))).toHaveLength(10)
  })

  it('follows a writer that goes on', async () => {
    const directory = spoolDirectory()
    const writer = aWriter(directory)
    const reader = aReader(directory, true)
    for (let round = 0; round < 5; round++) {
      writer.record(origin, aCall({ requestId: String(round) }))
      let events = reader.read(10)
      for (
        const until = Date.now() + 5000;
        events.length === 0 && Date.now() < until;
        events = reader.read(10)
      )
        await new Promise(resolve => setTimeout(resolve, 1))
      expect(ids(events.map(event => event.bytes))).toEqual([String(round)])
      await reader.commit()
    }
    expect(segments(directory)).toHaveLength(0)
    writer.close()
    expect(segments(directory)).toHaveLength(1)
  })

  it('`sync` resolves when the event can be read by another process', async () => {
    const directory = spoolDirectory()
    const writer = aWriter(directory, { durability: 'sync' })
    const held = Array.from({ length: 100 }, (_, index) =>
      writer.record(origin, aCall({ requestId: String(index) })),
    )
    expect(drain(aReader(directory))).toHaveLength(0)
    await Promise.all(held)
    expect(drain(aReader(directory))).toHaveLength(100)
    writer.close()
  })

  it('writes at close what is still in memory, and releases the calls that wait for it', async () => {
    const directory = spoolDirectory()
    const writer = aWriter(directory, { durability: 'sync' })
    const held = [1, 2, 3].map(number => writer.record(origin, aCall({ requestId: String(number) })))
    writer.close()
    expect(ids(drain(aReader(directory)))).toEqual(numbers(1, 3))
    expect(await Promise.all(held)).toEqual([undefined, undefined, undefined])
    expect(writer.counts).toEqual({ events: 3, dropped: 0, unsynced: 0 })
    expect(segments(directory)).toHaveLength(1)
  })

  it('releases at close also the calls that came while the disk was busy', async () => {
    const directory = spoolDirectory()
    const writer = aWriter(directory, { durability: 'sync' })
    const first = writer.record(origin, aCall({ requestId: '1' }))
    await new Promise(resolve => setImmediate(resolve))
    const second = writer.record(origin, aCall({ requestId: '2' }))
    writer.close()
    await Promise.all([first, second])
    expect(ids(drain(aReader(directory)))).toEqual(numbers(1, 2))
  }, 5_000)

  it('goes on in a new segment, and removes those that were read after the cursor says so', async () => {
    const directory = await writtenInSegments(60, 2000)
    const before = segments(directory)
    expect(before.length).toBeGreaterThan(3)
    const reader = aReader(directory, true)
    const events = reader.read(1)
    expect(ids(events.map(event => event.bytes))).toEqual(['1'])
    await reader.commit()
    expect(segments(directory)).toEqual(before)
    expect(ids(drain(reader))).toEqual(numbers(2, 60))
    await reader.commit()
    expect(segments(directory)).toEqual([])
    expect(reader.counts).toEqual({ read: 60, damaged: 0 })
  })

  it('reads everything again after its cursor was damaged', async () => {
    const directory = written(5)
    const reader = aReader(directory)
    drain(reader)
    await reader.commit()
    writeFileSync(join(directory, 'test.cursor'), '{"segments":')
    const damaged: string[] = []
    const again = aReader(directory, false, file => damaged.push(file))
    expect(drain(again)).toHaveLength(5)
    expect(damaged).toEqual([join(directory, 'test.cursor')])
  })
})

describe('damage', () => {
  it.each([
    ['emptied', () => Buffer.alloc(0)],
    ['cut off within an event', (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)],
    [
      'with a flipped bit',
      (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === 30 ? byte ^ 1 : byte))),
    ],
  ])('a complete segment that is %s is reported by its name', (_, damaged) => {
    const directory = written(3)
    const [path] = segments(directory) as [string]
    writeFileSync(path, damaged(readFileSync(path)))
    const files: string[] = []
    drain(aReader(directory, false, file => files.push(file)))
    expect(files).toEqual([path])
  })

  it('a last event cut off at any byte costs that event alone', () => {
    const directory = written(20)
    const [path] = segments(directory)
    const whole = readFileSync(path!)
    const start = lastFrameAt(whole)
    for (let length = whole.length - 1; length >= start; length--) {
      truncateSync(path!, length)
      const reader = aReader(directory)
      const startedAt = performance.now()
      expect(ids(drain(reader))).toEqual(numbers(1, 19))
      expect(performance.now() - startedAt).toBeLessThan(2000)
      // cut off exactly between two events, nothing shows that there was another
      expect(reader.counts.damaged).toBe(length === start ? 0 : 1)
    }
  })

  it('1,000 flipped bits, one at a time, cost the events they hit', () => {
    const directory = written(50)
    const [path] = segments(directory)
    const whole = readFileSync(path!)
    let seed = 1
    const random = (below: number): number => {
      seed = (seed * 48_271) % 0x7fff_ffff
      return seed % below
    }
    for (let round = 0; round < 1000; round++) {
      const bit = random(whole.length * 8)
      const damaged = Buffer.from(whole)
      damaged[bit >> 3] = damaged[bit >> 3]! ^ (1 << (bit & 7))
      writeFileSync(path!, damaged)
      const reader = aReader(directory)
      expect(drain(reader)).toHaveLength(49)
      expect(reader.counts.damaged).toBe(1)
    }
  })

  it('1,000 flipped bits at once cost at most an event each, and all that are lost are counted', () => {
    const directory = written(5000)
    const [path] = segments(directory)
    const bytes = readFileSync(path!)
    for (let round = 0, at = 7; round < 1000; round++, at = (at * 7919 + 13) % (bytes.length - 400))
      bytes[at] = bytes[at]! ^ (1 << (round & 7))
    writeFileSync(path!, bytes)
    const reader = aReader(directory)
    const left = drain(reader).length
    expect(left).toBeGreaterThanOrEqual(4000)
    expect(reader.counts.damaged).toBe(5000 - left)
  })

  it('a deleted segment costs its events, counted by their numbers', async () => {
    const directory = await writtenInSegments(60, 2000)
    const gone = segments(directory)[2]!
    const lost = drain(only(directory, gone)).length
    const reader = aReader(directory)
    reader.read(1)
    unlinkSync(gone)
    expect(drain(reader)).toHaveLength(59 - lost)
    expect(reader.counts.damaged).toBe(lost)
    expect(lost).toBeGreaterThan(0)
  })

  it('a segment of rubbish is passed over', async () => {
    const directory = written(3)
    const name = '00000000000001-8000000000000000-0000000001.events'
    writeFileSync(join(directory, name), Buffer.alloc(3_000_000, 'x'))
    const reader = aReader(directory, true)
    expect(drain(reader)).toHaveLength(3)
    expect(reader.counts.damaged).toBe(1)
    await reader.commit()
    expect(existsSync(join(directory, name))).toBe(false)
  })
})

describe('retention', () => {
  const onFault = () => {}

  it('drops the oldest segments above the limit, and counts unread events', async () => {
    const directory = await writtenInSegments(60, 2000)
    const reader = aReader(directory)
    reader.read(3)
    await reader.commit()
    const retention = new Retention({ directory, maxBytes: 7000, spareBytes: 2000, reader, onFault })
    const dropped = retention.enforce()
    expect(dropped).toBeGreaterThan(0)
    expect(retention.counts.bytes).toBeLessThanOrEqual(5000)
    expect(drain(reader)).toHaveLength(57 - dropped)
    expect(reader.counts.damaged).toBe(0)
    expect(retention.enforce()).toBe(0)
  })

  it('passes over a segment that cannot be read, and drops others', async () => {
    const directory = await writtenInSegments(60, 2000)
    mkdirSync(join(directory, '00000000000001-8000000000000000-0000000001.events'))
    const reader = aReader(directory)
    expect(() => reader.read(1)).toThrow('EISDIR')
    const faults: (string | undefined)[] = []
    const retention = new Retention({
      directory,
      maxBytes: 0,
      spareBytes: 0,
      reader,
      onFault: error => faults.push(error?.message),
    })
    expect(retention.enforce()).toBe(60)
    expect(retention.counts.segments).toBe(1)
    expect(faults).toEqual([expect.stringContaining('EISDIR')])
  })

  it('never deletes the segment that is being written, however little space there is', async () => {
    const directory = spoolDirectory()
    const writer = aWriter(directory)
    for (let index = 1; index <= 100; index++)
      await writer.record(origin, aCall({ requestId: String(index) }))
    const reader = aReader(directory)
    const retention = new Retention({ directory, maxBytes: 0, spareBytes: 0, reader, onFault })
    expect(retention.enforce()).toBe(0)
    expect(retention.counts).toMatchObject({ dropped: 0, segments: 1 })
    expect(retention.counts.bytes).toBeGreaterThan(100)
    await writer.record(origin, aCall({ requestId: '101' }))
    expect(ids(drain(reader))).toEqual(numbers(1, 101))
    writer.close()
    // it does not grow any more
    expect(retention.enforce()).toBe(0)
    expect(retention.counts).toEqual({ dropped: 0, bytes: 0, segments: 0 })
  })
})

function lastFrameAt(bytes: Buffer): number {
  const mark = bytes.subarray(0, 4)
  return bytes.lastIndexOf(mark)
}

function only(directory: string, path: string) {
  const copy = spoolDirectory()
  writeFileSync(join(copy, path.slice(directory.length + 1)), readFileSync(path))
  return aReader(copy)
}
