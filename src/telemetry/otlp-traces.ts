/** Exports spans of calls over OTLP/HTTP with the OpenTelemetry SDK, which reads OTEL_* variables. */
import { randomBytes } from 'node:crypto'
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type IdGenerator } from '@opentelemetry/sdk-trace-base'
import type { CallTraces, TracedCall } from './traces.ts'

export interface OtlpTraces extends CallTraces {
  /** Sends what is held; resolves also when it could not be sent. */
  close(): Promise<void>
}

/** Ids that were sent to others before the span exists: the SDK has to use them. */
class GivenIds implements IdGenerator {
  traceId = ''
  spanId = ''

  generateTraceId(): string {
    return this.traceId === '' ? randomBytes(16).toString('hex') : this.traceId
  }

  generateSpanId(): string {
    const given = this.spanId
    this.spanId = ''
    return given === '' ? randomBytes(8).toString('hex') : given
  }
}

/** @param service version and instance of this gateway, for the resource of the spans */
export function createOtlpTraces(service: {
  readonly version: string
  readonly instance: string
}): OtlpTraces {
  const ids = new GivenIds()
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({
      'service.name': 'toolgate',
      'service.version': service.version,
      'service.instance.id': service.instance,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  const tracer = provider.getTracer('toolgate', service.version)
  return {
    call(traced) {
      ids.traceId = traced.traceId
      const span = tracer.startSpan(
        traced.name,
        { kind: SpanKind.SERVER, startTime: traced.startedAtMs, attributes: traced.attributes },
        parentOf(traced),
      )
      if (traced.failed) span.setStatus({ code: SpanStatusCode.ERROR })
      const inside = trace.setSpan(ROOT_CONTEXT, span)
      for (const step of traced.steps) {
        ids.spanId = step.spanId
        const kind = step.spanId === '' ? SpanKind.INTERNAL : SpanKind.CLIENT
        const { attributes = {}, startedAtMs: startTime } = step
        const child = tracer.startSpan(step.name, { kind, startTime, attributes }, inside)
        if (step.failed === true) child.setStatus({ code: SpanStatusCode.ERROR })
        child.end(step.endedAtMs)
      }
      span.end(traced.endedAtMs)
    },
    close: () => provider.shutdown().catch(() => undefined),
  }
}

function parentOf({ traceId, parentSpanId }: TracedCall) {
  if (parentSpanId === undefined) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId: parentSpanId,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
  })
}
