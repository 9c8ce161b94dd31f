/** Metrics as OpenMetrics: names of counters, exemplars that survive the merging of threads, and which format a client gets. */
import { expect, it } from 'vitest'
import { Metrics } from '../../../src/telemetry/metrics.ts'
import { prefersOpenMetrics } from '../../../src/telemetry/metrics-endpoint.ts'

const SECRET_FREE = /# \{trace_id="[0-9a-f]{32}"\} [\d.e-]+ [\d.]+$/

const traced = (letter: string, receivedAtMs: number) => ({ traceId: letter.repeat(32), receivedAtMs })

it('names the family of a counter without its suffix and each sample with it, whatever the older text says', async () => {
  const metrics = new Metrics(10)
  metrics.call('a', 200, 'success', 'tools.call', 0.001, -1)
  metrics.read('platform_quota_evicted', () => 3)
  const text = await metrics.openMetrics()
  expect(text).toContain('# TYPE platform_requests counter\n')
  expect(text).toContain('\nplatform_requests_total{consumer="a",status="200"} 1\n')
  expect(text).toContain('# TYPE platform_quota_evicted counter\n')
  expect(text).toContain('\nplatform_quota_evicted_total 3\n')
  expect(text.endsWith('\n# EOF\n')).toBe(true)
  const samples = text.split('\n').filter(line => line.startsWith('platform_') && !line.startsWith('# '))
  expect(new Set(samples.map(line => line.split(' # ')[0]!.replace(/ \S+$/, ''))).size).toBe(samples.length)
  // the other format keeps its names
  expect(await metrics.text()).toContain('\nplatform_quota_evicted 3\n')
  expect(await metrics.text()).toContain('\nplatform_requests_total{consumer="a",status="200"} 1\n')
})

it('gives each bucket the newest traced call of all threads', async () => {
  const [first, second] = [new Metrics(10), new Metrics(10)]
  first.call('a', 200, 'success', 'tools.call', 0.0004, 0.0003, traced('a', 1_000))
  first.call('a', 200, 'success', 'tools.call', 0.0003, -1, traced('b', 3_000))
  second.call('a', 200, 'success', 'tools.call', 0.0002, -1, traced('c', 2_000))
  second.call('a', 200, 'success', 'tools.call', 2, -1, traced('d', 2_500))
  // of a trace that is not recorded
  second.call('a', 200, 'success', 'tools.call', 40, -1)
  first.gather(async () => [structuredClone(await second.json())])
  const lines = (await first.openMetrics()).split('\n')
  const bucket = (name: string, le: string) =>
    lines.find(line => line.startsWith(`platform_${name}_duration_seconds_bucket{le="${le}"`))
  expect(bucket('request', '0.0005')).toMatch(/ 3 # \{trace_id="b{32}"\} 0\.0003 3$/)
  expect(bucket('request', '2.5')).toMatch(/ 4 # \{trace_id="d{32}"\} 2 2\.5$/)
  expect(bucket('request', '1.0')).toMatch(/ 3$/)
  expect(bucket('request', '+Inf')).toMatch(/ 5$/)
  expect(bucket('backend', '0.0005')).toMatch(/ 1 # \{trace_id="a{32}"\} 0\.0003 1$/)
  for (const line of lines) if (line.includes('trace_id')) expect(line).toMatch(SECRET_FREE)
  expect(await first.text()).not.toContain('trace_id')
})

it('is chosen by the header of the request', () => {
  const prometheus =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  for (const accept of [
    prometheus,
    'application/openmetrics-text',
    'text/plain;q=0.5, application/openmetrics-text; version=1.0.0; q=0.5',
  ])
    expect(prefersOpenMetrics(accept), accept).toBe(true)
  for (const accept of [
    '',
    '*/*',
    'text/plain',
    'application/openmetrics-text;q=0',
    'application/openmetrics-text;version=2.0.0',
    'application/openmetrics-text;q=0.3, text/plain',
    'application/openmetrics-text;q=much',
  ])
    expect(prefersOpenMetrics(accept), accept).toBe(false)
})
