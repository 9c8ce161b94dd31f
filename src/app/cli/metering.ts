/** `toolgate metering tail|verify`: prints events of the spool, or compares spool, topic and counters. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Ledger, WriterReport } from '../../data-plane/metering/ledger.ts'
import type { SpoolReader } from '../../data-plane/metering/spool/spool-reader.ts'
import type { MeteringEvent } from '../../link/metering-event.ts'
import { readMetering } from '../settings/metering.ts'
import { Reader } from '../settings/reader.ts'
import { type Settings, SettingsError } from '../settings.ts'
import { type CommandContext, CommandFailure, EXIT, footer, print } from './command.ts'
import { shownText } from './shown-text.ts'

const POLL_MS = 200
const SPOOL =
  'The spool is the folder metering in DATA_DIR (default: ./data): a gateway writes one metering event into it for each call of an authenticated caller. A gateway that sends its events to Kafka removes the sent events from the spool.'

interface Places {
  readonly spool: string
  readonly metering: Settings['metering']
  readonly dataDir: string
  readonly databaseUrl: string
}

export function addMetering(program: Command, context: CommandContext): void {
  const metering = program
    .command('metering')
    .summary('print metering events, or find gaps in their numbers')
    .description(
      `Prints metering events, or finds gaps in their numbers. Reads the environment variables of the gateway: DATA_DIR, KAFKA_*, METERING_TOPIC and DATABASE_URL. ${SPOOL}`,
    )
  metering
    .command('tail')
    .summary('print the events in the spool, oldest first')
    .description(`Prints the events in the spool, oldest first. ${SPOOL}`)
    .option('--follow', 'also print new events, until you interrupt the command')
    .option('--json', 'print one JSON object per event')
    .addHelpText(
      'after',
      footer(
        ['toolgate metering tail --follow', 'toolgate metering tail --json | jq .consumer_id'],
        '0 printed, 1 unreadable events or an unreadable spool, 78 an invalid setting',
      ),
    )
    .action(async ({ json = false, follow = false }) => {
      context.exitCode = await tail(placesFrom(context.env), json, follow)
    })
  metering
    .command('verify')
    .summary('list missing events, and count duplicate events')
    .description(
      `Reads the spool and, if KAFKA_BROKERS is set, the Kafka topic METERING_TOPIC. For each writer (a thread of a gateway), lists the numbers of the events \
that are missing in both, counts the duplicates in the topic, and shows how many events the control plane has counted, if the command can open its \
database (DATABASE_URL). An event is missing if the number of a later event was found, or if the control plane has counted more events of the writer than the \
highest number found. The command cannot find a loss before the first event of a writer, because METERING_SPOOL_MAX and the retention of the topic remove old \
events; nor a loss of the last events of a writer that were not counted; nor a writer without any event. ${SPOOL}`,
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      footer(
        ['toolgate metering verify', 'KAFKA_BROKERS=kafka.example.com:9092 toolgate metering verify --json'],
        '0 no gap found, 1 missing or unreadable events or a failure, 78 an invalid setting',
      ),
    )
    .action(async ({ json = false }) => {
      context.exitCode = await verify(placesFrom(context.env), json)
    })
}

/** @throws SettingsError */
function placesFrom(env: CommandContext['env']): Places {
  const read = new Reader(env)
  const dataDir = read.text('DATA_DIR', './data')
  const places: Places = {
    dataDir,
    spool: join(dataDir, 'metering'),
    metering: readMetering(read),
    databaseUrl: read.text('DATABASE_URL', 'pglite:'),
  }
  if (read.faults.length > 0) throw new SettingsError(read.faults)
  return places
}

async function openSpool(directory: string, purpose: string): Promise<SpoolReader> {
  const { SpoolReader } = await import('../../data-plane/metering/spool/spool-reader.ts')
  return new SpoolReader({ directory, purpose, removes: false, onDamage: reportDamage })
}

function reportDamage(file: string, assumed: string): void {
  process.stderr.write(`${file} is damaged: ${assumed}.\n`)
}

async function tail(places: Places, json: boolean, follow: boolean): Promise<number> {
  const reader = await openSpool(places.spool, 'tail')
  let damaged = 0
  do {
    damaged += await readSpool(reader, event => print(`${json ? JSON.stringify(event) : lineOf(event)}\n`))
    if (follow) await sleep(POLL_MS)
  } while (follow)
  damaged += reader.counts.damaged
  if (damaged === 0) return EXIT.ok
  process.stderr.write(`the metering spool is damaged; unreadable events: ${damaged}\n`)
  return EXIT.failed
}

/**
 * Reports records that are whole but whose content is not an event, and continues after them.
 * @returns their number
 * @throws CommandFailure when the file system does not let the command read the spool
 */
async function readSpool(reader: SpoolReader, onEvent: (event: MeteringEvent) => void): Promise<number> {
  const { decodeEvent } = await import('../../data-plane/metering/event-codec.ts')
  let damaged = 0
  for (let events = readEvents(reader); events.length > 0; events = readEvents(reader))
    for (const { writer, number, bytes } of events) {
      let event: MeteringEvent
      try {
        event = decodeEvent(bytes)
      } catch (error) {
        damaged++
        process.stderr.write(
          `record ${number} of the writer ${writer} is damaged: its content cannot be read as a metering event (${(error as Error).message}). The command continues with the next record.\n`,
        )
        continue
      }
      onEvent(event)
    }
  return damaged
}

function readEvents(reader: SpoolReader): ReturnType<SpoolReader['read']> {
  try {
    return reader.read(1000)
  } catch (error) {
    throw new CommandFailure(
      `the metering spool cannot be read: ${(error as Error).message}. Run the command as the user that runs the gateway, and set DATA_DIR to the directory that the gateway uses.`,
    )
  }
}

function lineOf(event: MeteringEvent): string {
  const { occurred_at, consumer_id, access, tool, api_id, outcome, status_code, latency_us } = event
  const what = tool === '' ? api_id : tool
  const caller = shownText(`${consumer_id}  ${access}  ${what}`)
  return `${occurred_at}  ${caller}  ${outcome} ${status_code}  ${(latency_us / 1000).toFixed(1)} ms`
}

async function verify(
  { spool, metering: settings, dataDir, databaseUrl }: Places,
  json: boolean,
): Promise<number> {
  const { Ledger } = await import('../../data-plane/metering/ledger.ts')
  const ledger = new Ledger()
  // first: an event that is counted by then is in the spool or the topic when they are read
  const note = await countersInto(ledger, databaseUrl, dataDir)
  const reader = await openSpool(spool, 'verify')
  const undecoded = await readSpool(reader, event => ledger.see('spool', event))
  const notes: string[] = []
  let unreadable = 0
  if (settings.brokers.length === 0)
    notes.push('The metering topic was not read, because KAFKA_BROKERS is not set')
  else
    await readTopicOf(settings, event => {
      if (event === undefined) unreadable++
      else ledger.see('topic', event)
    })
  if (ledger.unseen > 0)
    notes.push(
      `The control plane has counted events of ${ledger.unseen} writers of which no event was found: they were not verified`,
    )
  if (note !== undefined) notes.push(note)
  const writers = ledger.report()
  const missing = writers
    .flatMap(writer => writer.gaps)
    .reduce((sum, [first, last]) => sum + last - first + 1, 0)
  const damaged = reader.counts.damaged + undecoded
  if (json)
    print(`${JSON.stringify({ writers, missing, damaged, unreadable, foreign: ledger.foreign, notes })}\n`)
  else show(writers, missing, damaged, unreadable, notes)
  return missing + damaged + unreadable > 0 ? EXIT.failed : EXIT.ok
}

/** @throws CommandFailure when the brokers cannot be reached, refuse, or do not have the topic */
async function readTopicOf(
  settings: Places['metering'],
  onEvent: (event: MeteringEvent | undefined) => void,
): Promise<void> {
  const { readTopic } = await import('../../data-plane/metering/kafka/read-topic.ts')
  const { SILENT } = await import('../../telemetry/log.ts')
  const { accessKafka } = await import('../main/kafka-access.ts')
  const { brokers, topic } = settings
  const { close, ...access } = accessKafka(settings)
  const exists = await readTopic({ ...access, clientId: 'toolgate-verify', log: SILENT }, onEvent)
    .catch(error => {
      throw new CommandFailure(
        `the topic ${topic} cannot be read from the brokers in KAFKA_BROKERS (${brokers.join(', ')}): ${(error as Error).message}. Check KAFKA_BROKERS and the network, and set KAFKA_TLS and KAFKA_SASL as on the gateways; or unset KAFKA_BROKERS to verify only the spool.`,
      )
    })
    .finally(close)
  if (!exists)
    throw new CommandFailure(
      `the brokers in KAFKA_BROKERS (${brokers.join(', ')}) have no topic ${topic}, which METERING_TOPIC names. Set METERING_TOPIC as on the gateways; the topic exists once a gateway has sent an event.`,
    )
}

/** @returns why the counters were not checked */
async function countersInto(ledger: Ledger, url: string, dataDir: string): Promise<string | undefined> {
  try {
    const { openStore } = await import('../../control-plane/store/open-store.ts')
    const { EVERY_TENANT } = await import('../../control-plane/store/store.ts')
    const { store } = await openStore({
      url,
      dataDir,
      mustExist: true,
      onFault: () => undefined,
    })
    try {
      for (const { writer, events } of await store.read(EVERY_TENANT, tx => tx.metering.foldEnded()))
        ledger.count(writer, events)
    } finally {
      await store.close()
    }
    return undefined
  } catch (error) {
    return `The counts of the control plane were not read: ${error instanceof Error ? error.message : String(error)}`
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
    print(
      `writer ${writer} of the gateway ${gateway}: events ${first}–${last}; in the spool: ${spool}; in the topic: ${topic} (duplicates: ${duplicates}); counted by the control plane: ${counted ?? 'unknown'}\n`,
    )
    for (const [from, to] of gaps) print(`  missing: ${rangeOf(from, to)}\n`)
    if (first > 1) print(`  removed or missing before the first event: ${rangeOf(1, first - 1)}\n`)
  }
  for (const note of notes) print(`${note}.\n`)
  print(
    `Events: ${missing} missing, ${damaged} damaged in the spool, ${unreadable} unreadable in the topic.\n`,
  )
  print(
    'Not verified: events before the first one of each writer, and events after the last one that the control plane has not counted.\n',
  )
}

function rangeOf(first: number, last: number): string {
  return first === last ? String(first) : `${first}–${last}`
}
