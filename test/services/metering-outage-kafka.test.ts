/**
 * Kafka is killed and started later while calls go on, with the longest names, in both formats, and on a disk that gets full: nothing is missing but what was counted, the
 * order of a key is kept, and the backlog is delivered. Short by default; `SOAK=1`: 10 minutes at 500 calls a second, with the bound of the catch-up.
 */
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEvent } from '../../src/data-plane/metering/event-codec.ts'
import { prepareSubject, type Subject } from '../faults/subject.ts'
import { atRate } from '../fixtures/open-loop.ts'
import { mountSmallDisk, type SmallDisk, WITHOUT_MOUNT } from '../fixtures/small-disk.ts'
import { callForStatus } from '../fixtures/tool-calls.ts'
import { hasKafka, KAFKA_HINT, KafkaServer } from './kafka/kafka-server.ts'

const SOAK = process.env.SOAK === '1'
const RUN = SOAK
  ? { outageMs: 600_000, perSecond: 500, caughtUpMs: 120_000, diskMb: 120 }
  : { outageMs: 10_000, perSecond: 50, caughtUpMs: 60_000, diskMb: 12 }
/** The longest names and ids. */
const CONSUMER = 'c'.repeat(253)
const TOOL = 't'.repeat(64)
const TOOL_SET = 's'.repeat(253)
const BODY = JSON.stringify({ name: TOOL, arguments: {} })
const ID_LENGTH = 128
/** Events on their way while calls go on. */
const UNDER_WAY = 1_000

interface Gateway {
  readonly topic: string
  readonly subject: Subject
  /** Numbers of the calls with a whole response. */
  readonly responded: Set<number>
  readonly statuses: Map<number, number>
}

const agent = new Agent({ keepAlive: true, maxSockets: 200 })
const requestId = (number: number): string => String(number).padStart(ID_LENGTH, '0')

/** Calls all gateways at the rate until it is stopped. */
async function load(gateways: readonly Gateway[], goesOn: () => boolean): Promise<void> {
  const pending = new Set<Promise<void>>()
  await atRate(RUN.perSecond, goesOn, made => {
    for (const gateway of gateways) {
      const called = call(gateway, made + 1).then(() => void pending.delete(called))
      pending.add(called)
    }
  })
  await Promise.all(pending)
}

async function call({ subject, responded, statuses }: Gateway, number: number): Promise<void> {
  const caller = { url: subject.url, token: subject.unlimitedToken, agent }
  const status = await callForStatus(caller, BODY, { 'x-request-id': requestId(number) })
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
  if (status === 200) responded.add(number)
}

/** @throws Error with the response that does not contain it */
async function metric({ subject, topic }: Gateway, name: string): Promise<number> {
  const response = await subject.metrics()
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(response)?.[1]
  if (found === undefined)
    throw new Error(`${topic}: no ${name} in ${JSON.stringify(response.slice(0, 500))}`)
  return Number(found)
}

const eventsOf = (gateway: Gateway) => metric(gateway, 'platform_metering_events_total')
const deliveredOf = (gateway: Gateway) => metric(gateway, 'platform_metering_delivered_total')
const droppedOf = (gateway: Gateway) => metric(gateway, 'platform_metering_dropped_total')

describe.skipIf(!hasKafka())(`an outage of Kafka (${KAFKA_HINT})`, () => {
  let kafka: KafkaServer
  const gateways: Gateway[] = []
  let disk: SmallDisk | undefined

  async function open(topic: string, env: Record<string, string>): Promise<void> {
    const subject = await prepareSubject({
      toolSet: TOOL_SET,
      tools: [TOOL],
      unlimitedConsumer: CONSUMER,
      env: {
        METERING_ENABLED: 'true',
        KAFKA_BROKERS: kafka.brokers,
        METERING_TOPIC: topic,
        DECISION_LOG: 'off',
        ...env,
      },
    })
    gateways.push({ topic, subject, responded: new Set(), statuses: new Map() })
    await subject.process.start()
  }

  beforeAll(async () => {
    kafka = await KafkaServer.start()
    await open('outage.protobuf', { METERING_FORMAT: 'protobuf' })
    await open('outage.json', { METERING_FORMAT: 'json' })
    if (WITHOUT_MOUNT !== undefined) return
    disk = mountSmallDisk(RUN.diskMb)
    await open('outage.full', { DATA_DIR: join(disk.directory, 'data') })
  }, 180_000)
  afterAll(async () => {
    agent.destroy()
    await Promise.all(gateways.map(({ subject }) => subject.close()))
    await kafka?.stop()
    disk?.unmount()
  })

  it('delivers all that was accepted, in order, once Kafka is back', {
    timeout: RUN.outageMs + 4 * RUN.caughtUpMs + 300_000,
  }, async () => {
    let goesOn = true
    const loading = load(gateways, () => goesOn)
    await expect.poll(() => deliveredOf(gateways[0]!), { timeout: 60_000 }).toBeGreaterThan(0)
    await kafka.kill()
    await sleep(RUN.outageMs)
    const backlogs = await Promise.all(
      gateways.map(async gateway => (await eventsOf(gateway)) - (await deliveredOf(gateway))),
    )
    await kafka.start()
    const backAt = performance.now()
    const caughtUp = gateways.map(async (gateway, at) => {
      const waiting = async () =>
        (await eventsOf(gateway)) - (await deliveredOf(gateway)) - (await droppedOf(gateway))
      await expect.poll(waiting, { timeout: 4 * RUN.caughtUpMs, interval: 500 }).toBeLessThan(UNDER_WAY)
      return `${gateway.topic}: ${backlogs[at]} events waited, ${((performance.now() - backAt) / 1_000).toFixed(1)} s`
    })
    const times = await Promise.all(caughtUp)
    const caughtUpMs = performance.now() - backAt
    // calls that the full disk refused are accepted again
    await sleep(2_000)
    goesOn = false
    await loading
    for (const gateway of gateways) {
      const all = async () => (await deliveredOf(gateway)) + (await droppedOf(gateway))
      await expect.poll(all, { timeout: 60_000 }).toBe(await eventsOf(gateway))
      const dropped = await droppedOf(gateway)
      const seen = new Set<number>()
      let last = 0
      for (const { key, value } of await kafka.read(gateway.topic)) {
        expect(key).toBe(CONSUMER)
        const { request_id: id, sequence } = readEvent(value)
        if (seen.has(Number(id))) continue
        seen.add(Number(id))
        // what was dropped leaves gaps, and nothing else does
        expect(sequence).toBeGreaterThan(last)
        if (dropped === 0) expect(sequence).toBe(last + 1)
        last = sequence
      }
      const missing = [...gateway.responded].filter(number => !seen.has(number)).length
      const { statuses } = gateway
      times.push(
        `${gateway.topic}: statuses ${JSON.stringify([...statuses])}, ${seen.size} in the topic, ${dropped} dropped, ${missing} missing`,
      )
      expect(missing).toBeLessThanOrEqual(dropped)
      expect(statuses.get(0) ?? 0).toBe(0)
      // the short outage fits on the disk
      const isFull = SOAK && gateway.topic === 'outage.full'
      // three gateways and their backends start on the processors of the test
      expect(statuses.get(504) ?? 0).toBeLessThan(100)
      statuses.delete(504)
      expect([...statuses.keys()].sort()).toEqual(isFull ? [200, 503] : [200])
      if (!isFull) expect(dropped).toBe(0)
    }
    if (SOAK) process.stdout.write(`${times.join('\n')}\n`)
    expect(caughtUpMs).toBeLessThan(RUN.caughtUpMs)
  })
})
