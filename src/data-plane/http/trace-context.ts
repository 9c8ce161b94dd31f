/** Reads the trace context and the baggage that callers send, and selects the headers to propagate. */

/** Where a call stands in the caller's trace. */
interface TraceParent {
  /** 32 hex digits, never all zero. */
  readonly traceId: string
  /** 16 hex digits, never all zero. */
  readonly parentSpanId: string
  /** Two hex digits: `sampled` and `random`; a flag that has no meaning yet is not passed on (§3.2.2.5). */
  readonly flags: string
}

/** §3.2.2: version, trace-id, parent-id, flags; a version to come may add more behind them (§3.2.4), `ff` is none. */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:$|-[\x20-\x7e]{0,256}$)/
const KNOWN_FLAGS = 0x03

export function readTraceparent(value: string): TraceParent | undefined {
  const [, version, traceId, parentSpanId, flags] = TRACEPARENT.exec(value) ?? []
  if (traceId === undefined || (version === '00' && value.length !== 55)) return undefined
  const known = Number.parseInt(flags!, 16) & KNOWN_FLAGS
  return { traceId, parentSpanId: parentSpanId!, flags: `0${known}` }
}

/** §3.3.1.5 asks for 512 characters at least, §3.3.1.1 for 32 members at most. */
const MAX_TRACESTATE = 2048
const MAX_MEMBERS = 32
const STATE_KEY = /^[a-z0-9][a-z0-9_\-*/@]{0,255}$/
const STATE_VALUE = /^[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** §3.3.1; one broken or repeated member spoils all of them. @returns '' when it is not valid or too long */
export function readTracestate(value: string): string {
  if (value.length > MAX_TRACESTATE) return ''
  const members = membersOf(value)
  const keys = new Set<string>()
  for (const member of members) {
    const at = member.indexOf('=')
    const key = member.slice(0, at)
    if (at < 1 || keys.has(key) || !STATE_KEY.test(key) || !STATE_VALUE.test(member.slice(at + 1))) return ''
    keys.add(key)
  }
  return members.length > MAX_MEMBERS ? '' : members.join(',')
}

/** W3C Baggage §3.3.2: both are what must at least be passed on. */
const MAX_BAGGAGE = 8192
const MAX_BAGGAGE_MEMBERS = 64
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const BAGGAGE_VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/

/** W3C Baggage §3.3.1. @returns '' when it is not valid or too long */
export function readBaggage(value: string): string {
  if (value.length > MAX_BAGGAGE) return ''
  const members = membersOf(value)
  const valid = members.every(member => {
    const [entry, ...properties] = member.split(';')
    return isPair(entry!) && properties.every(property => isPair(property) || TOKEN.test(unspaced(property)))
  })
  return valid && members.length <= MAX_BAGGAGE_MEMBERS ? members.join(',') : ''
}

function isPair(text: string): boolean {
  const at = text.indexOf('=')
  return at > 0 && TOKEN.test(unspaced(text.slice(0, at))) && BAGGAGE_VALUE.test(unspaced(text.slice(at + 1)))
}

/** Members may be empty, and have spaces and tabs around them. */
function membersOf(value: string): readonly string[] {
  return value
    .split(',')
    .map(unspaced)
    .filter(member => member !== '')
}

/** Without spaces and tabs around it, and without those only: `trim` takes line ends too. */
function unspaced(text: string): string {
  const isSpace = (at: number): boolean => text[at] === ' ' || text[at] === '\t'
  let from = 0
  let to = text.length
  while (from < to && isSpace(from)) from++
  while (to > from && isSpace(to - 1)) to--
  return text.slice(from, to)
}

/** What a caller has said, wherever it said it. Absent texts are ''. */
export interface TraceTexts {
  readonly traceparent: string
  readonly tracestate: string
  readonly baggage: string
}

/** Headers that are propagated with the trace, flat. `tracestate` means nothing without a valid `traceparent` (§4.3). */
export function propagatedHeaders({ traceparent, tracestate, baggage }: TraceTexts): readonly string[] {
  const state = readTraceparent(traceparent) === undefined ? '' : readTracestate(tracestate)
  const luggage = readBaggage(baggage)
  return [...(state === '' ? [] : ['tracestate', state]), ...(luggage === '' ? [] : ['baggage', luggage])]
}

/** The same keys in `_meta` of an MCP request (MCP 2026-07-28, "General fields"; OpenTelemetry's conventions for older versions). */
export function traceTextsOf(meta: { readonly [key: string]: unknown }): TraceTexts {
  const text = (name: string): string => {
    const value = Object.hasOwn(meta, name) ? meta[name] : undefined
    return typeof value === 'string' ? value : ''
  }
  return { traceparent: text('traceparent'), tracestate: text('tracestate'), baggage: text('baggage') }
}
