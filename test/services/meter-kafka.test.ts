/**
 * Calls while broker and gateway die: events at an independent consumer, rows at the control plane. Short by default; `SOAK=1` makes 50,000
 * calls in each mode of durability, with the broker unavailable for a minute three times and the gateway killed 20 times.
 */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEvent } from '../../src/data-plane/metering/event-codec.ts'
import type { MeteringEvent } from '../../src/link/metering-event.ts'
import { runToolgate } from '../fixtures/command.ts'
import { type Planes, type Published, publishApi, startPlanes } from '../fixtures/planes.ts'
import { hasKafka, KAFKA_HINT, KafkaServer } from './kafka/kafka-server.ts'

const SOAK = process.env.SOAK === '1'
const TOPIC = 'platform.metering'
const RUN = SOAK
  ? { calls: 50_000, perSecond: 250, kills: 20, killEveryMs: 8000, outages: 3, outageMs: 60_000 }
  : { calls: 400, perSecond: 100, kills: 1, killEveryMs: 1500, outages: 1, outageMs: 1000 }
const MAX_RSS_MIB = 250

describe.skipIf(!hasKafka())(`metering through Kafka (${KAFKA_HINT})`, () => {
  const modes = SOAK ? (['sync', 'batch'] as const) : (['sync'] as const)
  describe.each(modes)('with METERING_DURABILITY=%s', durability => {
    let kafka: KafkaServer
    let planes: Planes
    let upstream: Server
    let echo: Published
    /** Request ids whose whole response we saw. */
    const responded = new Set<string>()
    let peakRssMib = 0

    beforeAll(async () => {
      upstream = createServer((_, response) => response.end('echo'))
      await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
      kafka = await KafkaServer.start()
      planes = await startPlanes({
        WORKERS: '1',
        METERING_ENABLED: 'true',
        KAFKA_BROKERS: kafka.brokers,
        METERING_DURABILITY: durability,
      })
      echo = await publishApi(
        planes,
        'metered',
        `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
      )
      for (const until = Date.now() + 30_000; (await call('warm-up')) !== 200 && Date.now() < until; )
        await sleep(50)
    }, 180_000)
    afterAll(async () => {
      await planes?.stop()
      await kafka?.stop()
      upstream.closeAllConnections()
      upstream.close()
    })

    /** @returns the status, 0 without a complete response */
    async function call(id: string): Promise<number> {
      try {
        const headers = { 'x-api-key': echo.key, 'x-request-id': id }
        const response = await fetch(echo.publicUrl, { headers, signal: AbortSignal.timeout(20_000) })
        await response.text()
        if (response.status === 200) responded.add(id)
        return response.status
      } catch {
        return 0
      }
    }

    /** That many calls with a response; a call without one is followed by another. */
    async function load(): Promise<void> {
      const began = performance.now()
      let next = 0
      const worker = async (): Promise<void> => {
        while (responded.size < RUN.calls) {
          const number = next++
          await sleep(Math.max(0, began + (1000 * number) / RUN.perSecond - performance.now()))
          // while the gateway starts, an attempt is soon over
          if ((await call(`call-${number}`)) === 0) await sleep(20)
        }
      }
      await Promise.all(Array.from({ length: 16 }, worker))
    }

    function lookAtMemory(): void {
      const status = readFileSync(`/proc/${planes.gateway.pid}/status`, 'utf8')
      peakRssMib = Math.max(peakRssMib, Number(/VmHWM:\s+(\d+) kB/.exec(status)![1]) / 1024)
    }

    async function killGateways(): Promise<void> {
      for (let count = 0; count < RUN.kills; count++) {
        await sleep(RUN.killEveryMs)
        lookAtMemory()
        await planes.gateway.end('SIGKILL')
        await planes.gateway.start()
      }
    }

    async function killBrokers(): Promise<void> {
      for (let count = 0; count < RUN.outages; count++) {
        await sleep(1000)
        await kafka.kill()
        await sleep(RUN.outageMs)
        await kafka.start()
      }
    }

    async function topic(): Promise<MeteringEvent[]> {
      const messages = await kafka.read(TOPIC)
      for (const { key, value } of messages) expect(readEvent(value).consumer_id).toBe(key)
      return messages.map(({ value }) => readEvent(value))
    }

    /** Calls with a response and without an event. */
    const missing = (events: readonly MeteringEvent[]): string[] => {
      const there = new Set(events.map(event => event.request_id))
      return [...responded].filter(id => !there.has(id))
    }

    it('loses nothing that it promised to keep, and counts each call once', async () => {
      await Promise.all([load(), killGateways(), killBrokers()])
      lookAtMemory()
      expect(responded.size).toBeGreaterThanOrEqual(RUN.calls)

      // everything that was spooled has arrived when the number of events stands still
      let events = await topic()
      for (
        let still = 0, before = -1;
        still < (SOAK ? 10 : 4) && (still < 2 || missing(events).length > 0);
      ) {
        before = events.length
        await sleep(SOAK ? 2000 : 500)
        events = await topic()
        still = before === events.length ? still + 1 : 0
      }
      const byId = new Map(events.map(event => [event.event_id, event]))
      const lost = missing(events)
      process.stdout.write(
        `${durability}: ${responded.size} responded, ${events.length} messages, ${byId.size} events, ${lost.length} missing, peak ${Math.round(peakRssMib)} MiB\n`,
      )
      // `batch` may lose 5 ms when the machine ends; what has been written outlives a process whenever it ends
      expect(lost).toEqual([])
      expect(peakRssMib).toBeLessThan(MAX_RSS_MIB)
      const perCall = new Map<string, number>()
      for (const { request_id } of byId.values()) perCall.set(request_id, (perCall.get(request_id) ?? 0) + 1)
      perCall.delete('warm-up')
      expect([...perCall].filter(([, count]) => count !== 1)).toEqual([])

      const range = 'start_date=2020-01-01&granularity=month'
      const counted = async (path: string) => {
        const { metrics } = (await planes.api('GET', `/tenants/${echo.tenantId}${path}/metrics?${range}`))
          .json
        return (metrics as { requests: number }[]).reduce((sum, row) => sum + row.requests, 0)
      }
      await expect
        .poll(() => counted(`/apis/${echo.apiId}`), { timeout: 60_000, interval: 250 })
        .toBe(byId.size)
      expect(await counted('')).toBe(byId.size)
      const { out } = await runToolgate(['metering', 'verify', '--json'], {
        DATA_DIR: planes.gateway.dataDir,
        KAFKA_BROKERS: kafka.brokers,
      })
      const verified = JSON.parse(out)
      expect(verified.writers).toHaveLength(RUN.kills + 1)
      expect(verified).toMatchObject({ damaged: 0, unreadable: 0, foreign: 0 })
      // within a writer nothing is missing; what a kill cost was its end
      expect(verified.missing).toBe(0)

      const usage = (
        await planes.api('GET', `/tenants/${echo.tenantId}/subscriptions/${echo.subscriptionId}/usage`)
      ).json
      expect(usage.requests).toBe([...byId.values()].filter(event => event.counted).length)
    }, 900_000)
  })
})
