/** `toolgate metering`: what is in the spool, and what is missing from it. The topic's part is in test/services. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { metering } from '../../../../src/app/cli/metering.ts'
import { Ledger } from '../../../../src/data-plane/metering/ledger.ts'
import { aCall, anOrigin, aWriter, spoolDirectory } from '../../../fixtures/metering.ts'

let out: string[]
let complaints: string[]
beforeEach(() => {
  out = []
  complaints = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void out.push(line))
  vi.spyOn(console, 'error').mockImplementation((line: string) => void complaints.push(line))
})
afterEach(() => vi.restoreAllMocks())

/** A DATA_DIR with a spool of this many events. */
function spooled(count: number): { dataDir: string; segment: string } {
  const dataDir = spoolDirectory()
  const directory = join(dataDir, 'metering')
  const writer = aWriter(directory)
  for (let number = 1; number <= count; number++)
    writer.record(anOrigin(), aCall({ requestId: `req-${number}` }))
  writer.close()
  return { dataDir, segment: join(directory, readdirSync(directory)[0]!) }
}

describe('toolgate metering', () => {
  it('tails the spool, for people and for programs', async () => {
    const { dataDir } = spooled(3)
    expect(await metering(['tail'], { DATA_DIR: dataDir })).toBe(0)
    expect(out[0]).toMatch(
      /^2023-11-14T22:13:20.123Z {2}demo-agent {2}jsonrpc {2}get_order {2}success 200 {2}1.2 ms$/,
    )
    out = []
    expect(await metering(['tail', '--json'], { DATA_DIR: dataDir })).toBe(0)
    expect(out.map(line => JSON.parse(line).request_id)).toEqual(['req-1', 'req-2', 'req-3'])
  })

  it('verifies a whole spool, and finds what is missing in a damaged one', async () => {
    const { dataDir, segment } = spooled(10)
    expect(await metering(['verify', '--json'], { DATA_DIR: dataDir })).toBe(0)
    expect(JSON.parse(out[0]!)).toMatchObject({
      missing: 0,
      damaged: 0,
      writers: [{ first: 1, last: 10, spool: 10 }],
    })
    const bytes = readFileSync(segment)
    const middle = Math.floor(bytes.length / 2)
    bytes[middle] = bytes[middle]! ^ 1
    writeFileSync(segment, bytes)
    out = []
    expect(await metering(['verify', '--json'], { DATA_DIR: dataDir })).toBe(1)
    const report = JSON.parse(out[0]!)
    expect(report).toMatchObject({ missing: 1, damaged: 1 })
    expect(report.writers[0].gaps).toEqual([[expect.any(Number), report.writers[0].gaps[0][0]]])
    expect(await metering(['verify'], { DATA_DIR: dataDir })).toBe(1)
    expect(out.join('\n')).toMatch(/ {2}missing: \d+\n/)
  })

  it('says how it is used, and what is wrong with a setting', async () => {
    expect(await metering(['look'], {})).toBe(64)
    expect(await metering(['tail', '--all'], {})).toBe(64)
    expect(await metering(['verify'], { KAFKA_BROKERS: 'nowhere' })).toBe(78)
    expect(complaints.join('\n')).toMatch(/KAFKA_BROKERS holds "nowhere"/)
    expect(await metering(['--help'], {})).toBe(0)
  })
})

describe('the ledger', () => {
  it('joins spool, topic and counters by writer', () => {
    const ledger = new Ledger()
    const event = (sequence: number) =>
      ({
        event_id: `01930000-0000-7${String(sequence).padStart(3, '0')}-9234-56789abcdef0`,
        sequence,
        gateway: 'g',
      }) as never
    for (const sequence of [1, 2, 2, 3]) ledger.see('topic', event(sequence))
    for (const sequence of [3, 4, 8]) ledger.see('spool', event(sequence))
    ledger.see('topic', { event_id: 'other' } as never)
    ledger.count('923456789abcdef0', 3)
    ledger.count('ffffffffffffffff', 3)
    expect(ledger.foreign).toBe(1)
    expect(ledger.report()).toEqual([
      {
        writer: '923456789abcdef0',
        gateway: 'g',
        first: 1,
        last: 8,
        spool: 3,
        topic: 3,
        duplicates: 1,
        counted: 3,
        gaps: [[5, 7]],
      },
    ])
  })
})
