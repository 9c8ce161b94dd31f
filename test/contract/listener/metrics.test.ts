/** `GET /metrics` through every listener: a scrape that fails gets a response, and is reported. */
import { expect, it } from 'vitest'
import { Metrics } from '../../../src/telemetry/metrics.ts'
import { metricsHandler } from '../../../src/telemetry/metrics-endpoint.ts'
import { onEachListener, openListener } from './kit.ts'

onEachListener('metrics', kind => {
  it.each(['text/plain', 'application/openmetrics-text'])(
    'responds with 500 to a scrape of %s that fails',
    async accept => {
      const metrics = new Metrics(10)
      let isBroken = true
      metrics.gather(async () => {
        if (isBroken) throw new Error('a thread has ended')
        return []
      })
      const faults: unknown[] = []
      const { url, errors } = await openListener(
        kind,
        metricsHandler(metrics, error => faults.push(error)),
      )
      const scrape = () =>
        fetch(`${url}/metrics`, { headers: { accept }, signal: AbortSignal.timeout(10_000) })
      expect((await scrape()).status).toBe(500)
      expect([faults.map(String), errors]).toEqual([['Error: a thread has ended'], []])
      isBroken = false
      expect((await scrape()).status).toBe(200)
    },
  )
})
