/** The interface of the export of traces: a call that has ended, and its steps. Types only. */

export interface TracedStep {
  readonly name: string
  /** Unix ms with fractions. */
  readonly startedAtMs: number
  readonly endedAtMs: number
  /** 16 hex digits when the id was sent to others; '' = any. */
  readonly spanId: string
  /** For a span that calls a backend. */
  readonly attributes?: TracedCall['attributes']
  /** For a span that calls a backend: it did not respond, or with an error. */
  readonly failed?: boolean
}

/** A call that has ended. No argument, token or key is in it. */
export interface TracedCall extends Omit<TracedStep, 'spanId' | 'attributes' | 'failed'> {
  readonly traceId: string
  /** Parent span id of the caller; absent: the trace begins here. */
  readonly parentSpanId: string | undefined
  readonly attributes: { readonly [name: string]: string | number }
  /** A fault of the server (OpenTelemetry, HTTP spans): a refused call is not one. */
  readonly failed: boolean
  readonly steps: readonly TracedStep[]
}

export interface CallTraces {
  call(traced: TracedCall): void
}
