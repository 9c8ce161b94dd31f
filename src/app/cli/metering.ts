/** `toolgate metering tail|verify`: shows the events of the spool, and whether spool, topic and counters fit together. It changes nothing. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStore } from '../../control-plane/store/open.ts'
import { EVERY_TENANT } from '../../control-plane/store/store.ts'
import { decodeEvent } from '../../data-plane/metering/event-codec.ts'
import { readTopic } from '../../data-plane/metering/kafka/read-topic.ts'
import { Ledger, type WriterReport } from '../../data-plane/metering/ledger.ts'
import { SpoolReader } from '../../data-plane/metering/spool/spool-reader.ts'
import type { MeteringEvent } from '../../link/metering-event.ts'
import { SILENT } from '../../shared/telemetry/log.ts'
import { type MeteringSettings, readMetering } from '../settings/metering.ts'
import { Reader } from '../settings/reader.ts'

const USAGE = `Usage: toolgate metering tail [--follow] [--json]
       toolgate metering verify [--json]

  tail     shows the events that are in the spool, oldest first; --follow waits for more
  verify   lists gaps and repeats between the spool, the topic (when KAFKA_BROKERS is set) and what the control
           plane has counted (when its database can be opened); exit code 1 when something is missing

Reads DATA_DIR, KAFKA_BROKERS, METERING_TOPIC and DATABASE_URL.`

interface Places {
  readonly spool: string
  readonly metering: MeteringSettings
  readonly dataDir: string
  readonly databaseUrl: string
}

/** Exit code: 0, 1 (something is missing), 64 (usage), 78 (configuration). */
export async function metering(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<number> {
  if (args.includes('--help')) {
    console.log(USAGE)
    return 0
  }
  const [command, ...options] = args
  const known = command === 'tail' ? ['--json', '--follow'] : ['--json']
  if ((command !== 'tail' && command !== 'verify') || options.some(option => !known.includes(option))) {
    console.error(USAGE)
    return 64
  }
  const read = new Reader(env)
  const dataDir = read.text('DATA_DIR', './data')
  const places: Places = {
    dataDir,
    spool: join(dataDir, 'metering'),
    metering: readMetering(read),
    databaseUrl: read.text('DATABASE_URL', 'pglite:'),
  }
  for (const { name, reason, fix } of read.faults) console.error(`${name} ${reason} ${fix}`)
  if (read.faults.length > 0) return 78
  const json = options.includes('--json')
  return command === 'tail' ? tail(places, json, options.includes('--follow')) : verify(places, json)
}

async function tail(places: Places, json: boolean, follow: boolean): Promise<number> {
  const reader = new SpoolReader({ directory: places.spool, purpose: 'tail', removes: false })
  do {
    readSpool(reader, event => console.log(json ? JSON.stringify(event) : lineOf(event)))
    if (follow) await sleep(200)
  } while (follow)
  if (reader.counts.damaged > 0)
    console.error(`${reader.counts.damaged} events cannot be read: the spool is damaged.`)
  return reader.counts.damaged > 0 ? 1 : 0
}

function readSpool(reader: SpoolReader, onEvent: (event: MeteringEvent) => void): void {
  for (let events = reader.read(1000); events.length > 0; events = reader.read(1000))
    for (const { bytes } of events) onEvent(decodeEvent(bytes))
}

function lineOf(event: MeteringEvent): string {
  const { occurred_at, consumer_id, access, tool, api_id, outcome, status_code, latency_us } = event
  const what = tool === '' ? api_id : tool
  return `${occurred_at}  ${consumer_id}  ${access}  ${what}  ${outcome} ${status_code}  ${(latency_us / 1000).toFixed(1)} ms`
}

async function verify(
  { spool, metering: settings, dataDir, databaseUrl }: Places,
  json: boolean,
): Promise<number> {
  const ledger = new Ledger()
  const reader = new SpoolReader({ directory: spool, purpose: 'verify', removes: false })
  readSpool(reader, event => ledger.see('spool', event))
  const notes: string[] = []
  let unreadable = 0
  if (settings.brokers.length === 0) notes.push('KAFKA_BROKERS is not set: the topic was not read')
  else {
    await readTopic({ ...settings, clientId: 'toolgate-verify', log: SILENT }, event => {
      if (event === undefined) unreadable++
      else ledger.see('topic', event)
    })
  }
  const note = await countersInto(ledger, databaseUrl, dataDir)
  if (note !== undefined) notes.push(note)
  const writers = ledger.report()
  const missing = writers
    .flatMap(writer => writer.gaps)
    .reduce((sum, [first, last]) => sum + last - first + 1, 0)
  const { damaged } = reader.counts
  if (json)
    console.log(JSON.stringify({ writers, missing, damaged, unreadable, foreign: ledger.foreign, notes }))
  else show(writers, missing, damaged, unreadable, notes)
  return missing + damaged + unreadable > 0 ? 1 : 0
}

/** @returns why the counters were not looked at */
async function countersInto(ledger: Ledger, url: string, dataDir: string): Promise<string | undefined> {
  if (url === 'pglite:' && !existsSync(join(dataDir, 'postgres')))
    return 'there is no database in DATA_DIR: what was counted was not looked at'
  try {
    const { store } = await openStore({ url, dataDir, now: Date.now, onFault: () => undefined })
    try {
      for (const { writer, events } of await store.read(EVERY_TENANT, tx => tx.metering.folded()))
        ledger.count(writer, events)
    } finally {
      await store.close()
    }
    return undefined
  } catch (error) {
    return `what was counted was not looked at: ${error instanceof Error ? error.message : String(error)}`
  }
}

function show(
  writers: readonly WriterReport[],
  missing: number,
  damaged: number,
  unreadable: number,
  notes: readonly string[],
): void {
  for (const { writer, gateway, first, last, spool, topic, duplicates, counted, gaps } of writers) {
    console.log(
      `${writer} of ${gateway}: ${first}–${last}, ${spool} in the spool, ${topic} in the topic (${duplicates} repeated), ${counted ?? 'unknown'} counted`,
    )
    for (const [from, to] of gaps) console.log(`  missing: ${from === to ? from : `${from}–${to}`}`)
  }
  for (const note of notes) console.log(`${note}.`)
  console.log(`${missing} missing, ${damaged} damaged in the spool, ${unreadable} unreadable in the topic.`)
}
