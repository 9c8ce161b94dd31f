/**
 * A gateway that serves 20,000 calls of one consumer, with the longest names and request ids, while the broker has ended for three
 * minutes: each event is in the topic afterwards, in order. Only with CHECK=long: `npm run faults -- kafka-backlog.test.ts`, some ten minutes.
 * `EVENTS` and `OUTAGE_SECS` change its size. The short form, without calls, is test/services/metering-backlog-kafka.test.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { readEvent } from '../../src/data-plane/metering/event-codec.ts'
import { IS_LONG_CHECK } from '../fixtures/check.ts'
import { hasKafka, KAFKA_HINT, KafkaServer } from '../services/kafka/kafka-server.ts'
import { prepareSubject, type Subject } from './subject.ts'

const EVENTS = Number(process.env.EVENTS ?? 20_000)
const OUTAGE_MS = Number(process.env.OUTAGE_SECS ?? 180) * 1000
const DRAIN_MS = 120_000
const TOOL = 't'.repeat(64)
const TOOL_SET = 's'.repeat(253)

describe.skipIf(!IS_LONG_CHECK || !hasKafka())(
  `a backlog of a long outage (CHECK=long; ${KAFKA_HINT})`,
  () => {
    let kafka: KafkaServer
    let subject: Subject

    afterEach(async () => {
      await subject?.close()
      await kafka?.stop()
    }, 60_000)

    async function delivered(): Promise<number> {
      return Number(/^platform_metering_delivered_total (\d+)$/m.exec(await subject.metrics())?.[1])
    }

    it.each(['protobuf', 'json'])(
      'is delivered whole and in order as %s',
      async format => {
        kafka = await KafkaServer.start()
        subject = await prepareSubject({
          env: { METERING_ENABLED: 'true', KAFKA_BROKERS: kafka.brokers, METERING_FORMAT: format },
          toolSet: TOOL_SET,
          tools: [TOOL],
        })
        await subject.process.start()
        await expect.poll(async () => (await subject.callTool(TOOL)).status, { timeout: 60_000 }).toBe(200)
        await expect.poll(delivered, { timeout: 60_000 }).toBeGreaterThan(0)
        const before = await delivered()

        await kafka.kill()
        const endsAt = performance.now() + OUTAGE_MS
        const ids: string[] = []
        while (ids.length < EVENTS) {
          const id = String(ids.length).padStart(128, '0')
          const { status, text } = await subject.callTool(TOOL, subject.token, id)
          expect(status, text).toBe(200)
          ids.push(id)
        }
        const calledSecs = (performance.now() - endsAt + OUTAGE_MS) / 1000
        await sleep(Math.max(0, endsAt - performance.now()))
        await kafka.start()

        const startedAt = performance.now()
        await expect
          .poll(delivered, { timeout: DRAIN_MS, interval: 100 })
          .toBeGreaterThanOrEqual(before + EVENTS)
        const drainMs = performance.now() - startedAt
        const known = new Set(ids)
        const messages = (await kafka.read('platform.metering')).filter(({ value }) =>
          known.has(readEvent(value).request_id),
        )
        const arrived = messages.map(({ value }) => readEvent(value).request_id)
        const distinct = [...new Set(arrived)]
        const bytes = messages.reduce((sum, { value }) => sum + value.length, 0) / messages.length
        process.stdout.write(
          `${format}: ${EVENTS} calls in ${calledSecs.toFixed(0)} s, broker unavailable for ${Math.max(OUTAGE_MS / 1000, calledSecs).toFixed(0)} s, ${Math.round(bytes)} bytes an event; drained in ${(drainMs / 1000).toFixed(1)} s: ${distinct.length} events, ${arrived.length - distinct.length} repeats\n`,
        )
        expect(distinct.length).toBe(EVENTS)
        expect(distinct.findIndex((id, at) => id !== ids[at])).toBe(-1)
        expect(await subject.metrics()).toMatch(/^platform_metering_dead_letter_total 0$/m)
      },
      900_000,
    )
  },
)
