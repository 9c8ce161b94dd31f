/** `toolgate metering` on a spool, and the ledger that joins spool, topic and counters. Reading the topic is tested in test/services. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Ledger } from '../../../../src/data-plane/metering/ledger.ts'
import { frameAt, sealFrames } from '../../../../src/data-plane/metering/spool/frame.ts'
import { runToolgate } from '../../../fixtures/command.ts'
import { aCall, anOrigin, aReader, aWriter, drain, spoolDirectory } from '../../../fixtures/metering.ts'

const metering = (env: Record<string, string>, ...args: string[]) => runToolgate(['metering', ...args], env)

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
  it('prints the spool as text and as JSON', async () => {
    const { dataDir } = spooled(3)
    const text = await metering({ DATA_DIR: dataDir }, 'tail')
    expect(text.code).toBe(0)
    expect(text.out.split('\n')[0]).toMatch(
      /^2023-11-14T22:13:20.123Z {2}demo-agent {2}jsonrpc {2}get_order {2}success 200 {2}1.2 ms$/,
    )
    const { code, out } = await metering({ DATA_DIR: dataDir }, 'tail', '--json')
    expect(code).toBe(0)
    const lines = out.trim().split('\n')
    expect(lines.map(line => JSON.parse(line).request_id)).toEqual(['req-1', 'req-2', 'req-3'])
  })

  it('verifies a whole spool, and finds what is missing in a damaged one', async () => {
    const { dataDir, segment } = spooled(10)
    const verify = (...options: string[]) => metering({ DATA_DIR: dataDir }, 'verify', ...options)
    const complete = await verify('--json')
    expect(complete.code).toBe(0)
    expect(JSON.parse(complete.out)).toMatchObject({
      missing: 0,
      damaged: 0,
      writers: [{ first: 1, last: 10, spool: 10 }],
    })
    const bytes = readFileSync(segment)
    const middle = Math.floor(bytes.length / 2)
    bytes[middle] = bytes[middle]! ^ 1
    writeFileSync(segment, bytes)
    const { code, out } = await verify('--json')
    expect(code).toBe(1)
    const report = JSON.parse(out)
    expect(report).toMatchObject({ missing: 1, damaged: 1 })
    expect(report.writers[0].gaps).toEqual([[expect.any(Number), report.writers[0].gaps[0][0]]])
    const text = await verify()
    expect(text.code).toBe(1)
    expect(text.out).toMatch(/ {2}missing: \d+\n/)
  })

  /** The content of the second record is replaced, and its checksum is that of the new content. */
  function foreignRecord(dataDir: string, segment: string, content: number): void {
    const bytes = readFileSync(segment)
    const { end } = frameAt(bytes, 0)!
    const second = frameAt(bytes, end)!
    second.bytes.fill(content)
    sealFrames(bytes, end, second.end)
    writeFileSync(segment, bytes)
    // the record is whole: only its content is wrong
    expect(drain(aReader(join(dataDir, 'metering')))).toHaveLength(4)
  }

  // a wire type that does not exist, and fields that are valid and are not those of an event
  it.each([0xff, 0x18])(
    'reports a whole record whose content (%i) is not an event, and continues after it',
    async content => {
      const { dataDir, segment } = spooled(4)
      foreignRecord(dataDir, segment, content)
      const record =
        /^record 2 of the writer [0-9a-f]{16} is damaged: .* cannot be read as a metering event \(.+\)\. .*$/m
      const tail = await metering({ DATA_DIR: dataDir }, 'tail', '--json')
      const lines = tail.out.trim().split('\n')
      expect(lines.map(line => JSON.parse(line).request_id)).toEqual(['req-1', 'req-3', 'req-4'])
      expect(tail.err).toMatch(record)
      expect(tail.err).toContain('the metering spool is damaged; unreadable events: 1\n')
      expect(tail.code).toBe(1)
      const verify = await metering({ DATA_DIR: dataDir }, 'verify', '--json')
      expect(verify.err).toMatch(record)
      expect(JSON.parse(verify.out)).toMatchObject({
        missing: 1,
        damaged: 1,
        writers: [{ first: 1, last: 4, spool: 3, gaps: [[2, 2]] }],
      })
      expect(verify.code).toBe(1)
    },
  )

  it('creates no database in order to verify its counters', async () => {
    const { dataDir } = spooled(1)
    const directory = join(dataDir, 'elsewhere', 'db')
    for (const [missing, settings] of [
      [directory, { DATABASE_URL: `pglite:${directory}` }],
      [join(dataDir, 'postgres'), {}],
    ] as const) {
      const { code, out } = await metering({ DATA_DIR: dataDir, ...settings }, 'verify', '--json')
      expect(code).toBe(0)
      expect(JSON.parse(out).notes.at(-1)).toContain(`${missing} does not contain a database`)
    }
    expect(readdirSync(dataDir)).toEqual(['metering'])
  })

  it.each(['tail', 'verify'])('says in `%s` that the spool cannot be read', async command => {
    const dataDir = spoolDirectory()
    writeFileSync(join(dataDir, 'metering'), 'not a directory')
    const { code, out, err } = await metering({ DATA_DIR: dataDir }, command)
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(
      /the metering spool cannot be read: ENOTDIR.* Run the command as the user that runs the gateway/,
    )
  })

  it.each([
    ['as text', []],
    ['as JSON', ['--json']],
  ])(
    'says in `verify`, %s, that the brokers cannot be reached, in one line',
    { timeout: 120_000 },
    async (_, options) => {
      const { dataDir } = spooled(1)
      const env = { DATA_DIR: dataDir, KAFKA_BROKERS: '127.0.0.1:9' }
      const { code, out, err } = await metering(env, 'verify', ...options)
      expect([code, out]).toEqual([1, ''])
      expect(err).toMatch(
        /^toolgate: the topic platform\.metering cannot be read from the brokers in KAFKA_BROKERS \(127\.0\.0\.1:9\): .*ECONNREFUSED.*\. Check KAFKA_BROKERS and the network.*\n$/,
      )
    },
  )

  it('says in `verify` what it does not verify, and which numbers before the first event were not found', async () => {
    const dataDir = spoolDirectory()
    const directory = join(dataDir, 'metering')
    const writer = aWriter(directory, { segmentBytes: 1_000, durability: 'sync' })
    for (let number = 1; number <= 40; number++) await writer.record(anOrigin(), aCall())
    writer.close()
    const segments = readdirSync(directory)
      .filter(file => file.endsWith('.events'))
      .sort()
    expect(segments.length).toBeGreaterThan(1)
    // as METERING_SPOOL_MAX removes it
    rmSync(join(directory, segments[0]!))
    const { code, out } = await metering({ DATA_DIR: dataDir }, 'verify')
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^ {2}removed or missing before the first event: 1–\d+$/m),
    ])
    expect(out).toMatch(
      /^Not verified: events before the first one of each writer, and events after the last one/m,
    )
  })

  it('refuses unknown commands, unknown options and invalid settings', async () => {
    expect((await metering({}, 'look')).code).toBe(64)
    expect((await metering({}, 'tail', '--all')).code).toBe(64)
    const { code, err } = await metering({ KAFKA_BROKERS: 'nowhere' }, 'verify')
    expect([code, err]).toEqual([78, expect.stringMatching(/KAFKA_BROKERS contains "nowhere"/)])
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
    ledger.count('bfffffffffffffff', 3)
    ledger.count('the id of an event that is not a UUIDv7', 1)
    expect(ledger.unseen).toBe(1)
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
    ledger.count('923456789abcdef0', 7)
    expect(ledger.report()[0]).toMatchObject({
      last: 8,
      counted: 10,
      gaps: [
        [5, 7],
        [9, 10],
      ],
    })
  })
})
