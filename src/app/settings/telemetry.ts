/** The sampling of access logs and stage timings, and whether traces are exported. The OpenTelemetry SDK reads `OTEL_*` variables itself. */
import type { Reader } from './reader.ts'

export function readTelemetry(read: Reader) {
  const endpoint = read.url('OTEL_EXPORTER_OTLP_ENDPOINT') ?? read.url('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  return {
    /** Share of the successful calls that are logged, 0 to 1; refused and failed ones always are. */
    accessLogSample: read.share('ACCESS_LOG_SAMPLE', '1'),
    /** Share of the calls whose stages are timed, 0 to 1. */
    stageTimingSample: read.share('STAGE_TIMING_SAMPLE', '0.01'),
    /** Spans are exported. */
    traces: endpoint !== undefined && !read.flag('OTEL_SDK_DISABLED', false),
  } as const
}
