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
      const statusOf = ({ status, headers }: Response) => [status, headers.get('x-content-type-options')]
      expect(statusOf(await scrape())).toEqual([500, 'nosniff'])
      expect([faults.map(String), errors]).toEqual([['Error: a thread has ended'], []])
      isBroken = false
      expect(statusOf(await scrape())).toEqual([200, 'nosniff'])
      expect(statusOf(await fetch(`${url}/other`))).toEqual([404, 'nosniff'])
    },
  )
})
