/** The spool and its delivery on a disk that fails at one step and recovers: the process goes on, no event is lost, and each fault ends with its cause. */
import { mkdirSync, readdirSync, readlinkSync, rmdirSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { EventSink } from '../../../../src/data-plane/metering/event-sink.ts'
import { type SpooledEvent, SpoolReader } from '../../../../src/data-plane/metering/spool/spool-reader.ts'
import type { SpoolWriterOptions } from '../../../../src/data-plane/metering/spool/spool-writer.ts'
import { createLogger } from '../../../../src/telemetry/logger.ts'
import { failing, failingPromise } from '../../../fixtures/failing-disk.ts'
import { aCall, anOrigin, aReader, aWriter, drain, spoolDirectory } from '../../../fixtures/metering.ts'

const SOON = { timeout: 20_000, interval: 5 }

function open(options: Partial<SpoolWriterOptions> = {}) {
  const directory = spoolDirectory()
  const faults: (string | undefined)[] = []
  const onFault = (error: Error | undefined) => void faults.push(error?.message)
  const writer = aWriter(directory, { segmentBytes: 2_000, onFault, ...options })
  return { directory, faults, writer }
}
type Open = ReturnType<typeof open>

const turn = () => new Promise(resolve => setImmediate(resolve))

/** Records an event in each turn, so that some arrive during every fdatasync. */
async function recordUntil({ writer }: Open, isOver: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !isOver() && Date.now() < end; await turn())
    void writer.record(anOrigin(), aCall())
  expect(isOver()).toBe(true)
}

function filesOf(directory: string, ending: string): string[] {
  return readdirSync(directory).filter(name => name.endsWith(ending))
}

function openFiles(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`)
      return path.startsWith(directory) ? [path] : []
    } catch {
      return []
    }
  })
}

function expectAllThere({ directory, writer }: Open): void {
  const reader = aReader(directory)
  expect(drain(reader)).toHaveLength(writer.counts.events)
  expect(reader.counts.damaged).toBe(0)
  expect(writer.counts.dropped).toBe(0)
}

let end = () => {}
afterEach(() => end())

describe('a disk that fails', () => {
  it('to store the position because it is full: what was delivered is removed first, which makes the space', async () => {
    const spool = open()
    const { directory, writer } = spool
    const segments = (): number => filesOf(directory, '.events').length
    await recordUntil(spool, () => segments() > 3)
    writer.close()
    const written = segments()
    end = failingPromise(
      'open',
      'ENOSPC',
      path => String(path).endsWith('.cursor.new') && segments() === written,
    )
    const delivery = () => new SpoolReader({ directory, purpose: 'kafka', removes: true, onDamage: () => {} })
    const reader = delivery()
    expect(drain(reader)).toHaveLength(writer.counts.events)
    await reader.commit()
    expect(segments()).toBe(0)
    const next = delivery()
    expect(drain(next)).toEqual([])
    expect(next.counts.damaged).toBe(0)
  })

  it('for each write because it is full: the segment ends, so that its delivery makes the space', async () => {
    const spool = open({ segmentBytes: 1_000_000 })
    const { directory, faults, writer } = spool
    await writer.record(anOrigin(), aCall())
    const sizeOf = (): number =>
      readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
    const maxBytes = sizeOf() + 10_000
    end = failing('writeSync', 'ENOSPC', () => sizeOf() >= maxBytes)
    await recordUntil(spool, () => faults.length > 0)
    for (let at = 0; at < 100; at++) void writer.record(anOrigin(), aCall())
    expect(writer.held).toBeGreaterThan(99)
    const reader = new SpoolReader({ directory, purpose: 'kafka', removes: true, onDamage: () => {} })
    const numbers: number[] = []
    const deliver = async (): Promise<number> => {
      for (let events = reader.read(1_000); events.length > 0; events = reader.read(1_000))
        numbers.push(...events.map(({ number }) => number))
      await reader.commit()
      return writer.held
    }
    await expect.poll(deliver, SOON).toBe(0)
    // a writer has recovered when its fdatasync has succeeded, which comes after the write
    await expect.poll(() => faults.at(-1), SOON).toBeUndefined()
    writer.close()
    await deliver()
    expect(numbers).toEqual(Array.from({ length: writer.counts.events }, (_, at) => at + 1))
    expect([reader.counts.damaged, writer.counts.dropped]).toEqual([0, 0])
  })

  it('to sync a full segment: the segment grows until it can be synced', async () => {
    const spool = open()
    const { directory, faults, writer } = spool
    end = failing('fdatasyncSync', 'EIO')
    await recordUntil(spool, () => faults.length > 0)
    expect(faults).toEqual(['EIO: fdatasyncSync'])
    end()
    await expect.poll(() => faults, SOON).toEqual(['EIO: fdatasyncSync', undefined])
    await recordUntil(spool, () => filesOf(directory, '.events').length > 2)
    writer.close()
    // an fdatasync may still use the descriptor
    await expect.poll(() => openFiles(directory), SOON).toEqual([])
    expectAllThere(spool)
  })

  it.each(['batch', 'sync'] as const)(
    'to begin a segment: with `%s` it recovers without a further event, and leaves nothing behind',
    async durability => {
      const spool = open({ durability })
      const { directory, faults, writer } = spool
      end = failing('fsyncSync', 'EIO')
      await recordUntil(spool, () => faults.length > 0)
      // some attempts later
      await new Promise(resolve => setTimeout(resolve, 350))
      expect(faults).toEqual(['EIO: fsyncSync'])
      expect(writer.ready).toBe(durability === 'batch')
      expect(filesOf(directory, '.open')).toHaveLength(1)
      expect(openFiles(directory)).toHaveLength(1)
      end()
      await expect.poll(() => writer.ready && faults.at(-1) === undefined, SOON).toBe(true)
      writer.close()
      expectAllThere(spool)
    },
  )

  it('to begin the first segment: with `sync` it recovers without an event, because none is accepted', async () => {
    end = failing('fsyncSync', 'EIO')
    const { writer, faults } = open({ durability: 'sync' })
    expect(writer.ready).toBe(false)
    end()
    await expect.poll(() => writer.ready, SOON).toBe(true)
    expect(faults).toEqual(['EIO: fsyncSync', undefined])
    writer.close()
  })

  it('to rename a full segment: events are accepted, and the fault ends when it has its name', async () => {
    const spool = open({ durability: 'sync' })
    const { directory, faults, writer } = spool
    const name = filesOf(directory, '.open')[0]!.replace('.open', '.events')
    mkdirSync(join(directory, name))
    await recordUntil(spool, () => faults.length > 0)
    expect(faults).toEqual([expect.stringContaining(name)])
    expect(writer.ready).toBe(true)
    rmdirSync(join(directory, name))
    await expect.poll(() => faults.slice(1), SOON).toEqual([undefined])
    await expect.poll(() => filesOf(directory, '.open').length, SOON).toBe(1)
    writer.close()
    expectAllThere(spool)
  })

  it('at close: waiting responses are sent, and the next start has the events', async () => {
    const spool = open({ durability: 'sync', segmentBytes: 2 ** 20 })
    const { directory, faults, writer } = spool
    const held = writer.record(anOrigin(), aCall())
    end = failing('fdatasyncSync', 'EIO')
    writer.close()
    await held
    end()
    expect(faults).toEqual(['EIO: fdatasyncSync'])
    await expect.poll(() => openFiles(directory), SOON).toEqual([])
    expectAllThere(spool)
  })
})

it('a full segment that an operator has removed does not count as a fault', async () => {
  const spool = open()
  const { directory, faults, writer } = spool
  unlinkSync(join(directory, filesOf(directory, '.open')[0]!))
  await recordUntil(spool, () => filesOf(directory, '.events').length > 1)
  expect(faults).toEqual([])
  writer.close()
})

describe('the delivery of a spool', () => {
  function deliver(directory: string) {
    const faults: (string | undefined)[] = []
    const taken: SpooledEvent[] = []
    const sink = new EventSink({
      source: aReader(directory),
      async take(events) {
        taken.push(...events)
        return events.length
      },
      taker: 'Kafka',
      maxBatch: 1,
      onFault: fault => faults.push(fault),
      log: createLogger('silent'),
    })
    return { faults, taken, sink }
  }

  it('whose position cannot be stored names the spool, goes on, and stores it without a further event', async () => {
    const { directory, writer } = open()
    for (let events = 0; events < 3; events++) void writer.record(anOrigin(), aCall())
    writer.close()
    const blocked = join(directory, 'test.cursor.new')
    mkdirSync(blocked)
    const { faults, taken, sink } = deliver(directory)
    await expect.poll(() => taken.length, SOON).toBe(3)
    expect(faults).toEqual([expect.stringContaining('position in the metering spool')])
    expect(faults[0]).not.toContain('Kafka')
    rmdirSync(blocked)
    await expect.poll(() => faults.slice(1), SOON).toEqual([undefined])
    await sink.close()
    expect(drain(aReader(directory))).toEqual([])
  })

  it('that cannot be read names the spool until it can', async () => {
    const { directory, writer } = open()
    const blocked = join(directory, '00000000000001-8000000000000000-0000000001.events')
    mkdirSync(blocked)
    const { faults, sink } = deliver(directory)
    await expect.poll(() => faults, SOON).toEqual([expect.stringContaining('spool cannot be read')])
    rmdirSync(blocked)
    await expect.poll(() => faults.slice(1), SOON).toEqual([undefined])
    await sink.close()
    writer.close()
  })
})
