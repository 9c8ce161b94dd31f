/** `toolgate metering verify` on a spool and the database of its control plane: losses that only the counts show. The topic is tested in test/services. */
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { foldEvents, SPOOL_SOURCE } from '../../../../src/control-plane/api/services/fold-events.ts'
import { openMigratedStore } from '../../../../src/control-plane/store/open-store.ts'
import { decodeEvent } from '../../../../src/data-plane/metering/event-codec.ts'
import type { MeteringEvent } from '../../../../src/link/metering-event.ts'
import { copyTemplate } from '../../../contract/store/pglite-template.ts'
import { runToolgate } from '../../../fixtures/command.ts'
import { aCall, anOrigin, aReader, aWriter, drain, spoolDirectory } from '../../../fixtures/metering.ts'

const dataDir = spoolDirectory()
const spool = join(dataDir, 'metering')
let spooled: MeteringEvent[]

beforeAll(async () => {
  await copyTemplate(join(dataDir, 'postgres'))
  mkdirSync(spool, { recursive: true })
  const writer = aWriter(spool)
  for (let number = 1; number <= 10; number++) writer.record(anOrigin(), aCall())
  writer.close()
  spooled = drain(aReader(spool)).map(decodeEvent)
}, 120_000)
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

async function count(events: readonly MeteringEvent[]): Promise<void> {
  const store = await openMigratedStore({ url: 'pglite:', dataDir, now: Date.now, onFault: () => {} })
  try {
    expect(await foldEvents(store, SPOOL_SOURCE, events)).toBe(events.length)
  } finally {
    await store.close()
  }
}

const verify = (...options: string[]) =>
  runToolgate(['metering', 'verify', ...options], { DATA_DIR: dataDir })

/** The event of the same writer with this number after the last one of the spool. */
function later(number: number): MeteringEvent {
  const { event_id, ...fields } = spooled.at(-1)!
  return { ...fields, sequence: 10 + number, event_id: `fffffff${number}${event_id.slice(8)}` }
}

it('reports events that were counted after the last one found', { timeout: 120_000 }, async () => {
  await count(spooled)
  const complete = await verify('--json')
  expect([complete.code, JSON.parse(complete.out)]).toMatchObject([
    0,
    { missing: 0, notes: [expect.stringContaining('KAFKA_BROKERS is not set')], writers: [{ counted: 10 }] },
  ])
  await count([later(1), later(2)])
  const { code, out } = await verify('--json')
  expect([code, JSON.parse(out)]).toMatchObject([
    1,
    { missing: 2, writers: [{ first: 1, last: 10, spool: 10, counted: 12, gaps: [[11, 12]] }] },
  ])
  const text = await verify()
  expect([text.code, text.out]).toEqual([1, expect.stringContaining('  missing: 11–12\n')])

  for (const file of readdirSync(spool)) rmSync(join(spool, file))
  const lost = await verify()
  expect(lost.out).toContain('has counted events of 1 writers of which no event was found')
  expect(lost.out).toContain('Not verified: events before the first one of each writer, and events after')
})
