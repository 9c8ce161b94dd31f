/** Serves `/metrics` in the Prometheus text format or as OpenMetrics, by the header Accept. */
import type { HttpHandler } from '../net/server/listener.ts'
import { NOSNIFF } from '../net/server/pages.ts'
import type { Metrics } from './metrics.ts'
import { OPEN_METRICS_TYPE } from './open-metrics.ts'

const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** @param onFault receives the error of a scrape, which gets 500 */
export function metricsHandler(metrics: Metrics, onFault: (error: unknown) => void): HttpHandler {
  return (request, response) => {
    if (request.path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD'))
      return response.send(404, NOSNIFF)
    const isOpen = prefersOpenMetrics(request.header('accept'))
    const type = isOpen ? OPEN_METRICS_TYPE : TEXT_TYPE
    void (isOpen ? metrics.openMetrics() : metrics.text()).then(
      text => response.send(200, ['content-type', type, 'vary', 'accept', ...NOSNIFF], text),
      error => {
        response.send(500, NOSNIFF)
        onFault(error)
      },
    )
  }
}

/** RFC 9110 §12.5.1, as far as two formats need it. A client that names neither gets the older one. */
export function prefersOpenMetrics(accept: string): boolean {
  let open = 0
  let text = 0
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim().toLowerCase())
    const given = parameters.find(parameter => parameter.startsWith('q='))?.slice(2)
    const weight = given === undefined ? 1 : Number(given)
    if (!(weight > 0 && weight <= 1)) continue
    if (type === 'application/openmetrics-text') {
      const version = parameters.find(parameter => parameter.startsWith('version='))?.slice(8)
      if (version === undefined || version === '1.0.0') open = Math.max(open, weight)
    } else if (type === 'text/plain' || type === 'text/*' || type === '*/*') text = Math.max(text, weight)
  }
  return open > 0 && open >= text
}
