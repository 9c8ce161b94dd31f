/** `GET /metrics` in the Prometheus text format. It counts nothing. */
import type { HttpHandler } from '../server/listener.ts'
import type { Metrics } from './metrics.ts'

export function metricsHandler(metrics: Metrics): HttpHandler {
  return (request, response) => {
    if (request.path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD'))
      return response.send(404, [])
    void metrics
      .text()
      .then(text => response.send(200, ['content-type', 'text/plain; version=0.0.4; charset=utf-8'], text))
  }
}
