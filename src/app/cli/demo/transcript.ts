/** Prints the demo as text or as JSON, masked by `masked.ts`. */
import { STATUS_CODES } from 'node:http'
import type { DemoExchange } from './exchange.ts'
import { mask } from './masked.ts'

export interface Transcript {
  /** Begins a step; the previous one has passed. */
  step(id: string, title: string): void
  show(exchange: DemoExchange): void
  /** Several similar exchanges, one line each. */
  showMany(exchanges: readonly DemoExchange[]): void
  note(text: string): void
  /** A check that passed. */
  ok(text: string): void
  fail(expected: string, got: string): void
  end(): void
}

const REQUEST_HEADERS = ['authorization', 'x-api-key', 'content-type', 'accept', 'mcp-protocol-version']
const RESPONSE_HEADERS = [
  'content-type',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'retry-after',
  'www-authenticate',
  'x-request-id',
]
const MAX_LINES = 18
const MAX_TEXT = 180
const MAX_ENTRIES = 3

function bodyOf(exchange: DemoExchange): unknown {
  return exchange.body instanceof URLSearchParams ? exchange.body.toString() : exchange.body
}

/** Truncates long texts and lists and adds how much is missing. */
function shorten(value: unknown): unknown {
  if (typeof value === 'string') {
    const text = mask(value)
    const left = text.length - MAX_TEXT
    return left > 0 ? `${text.slice(0, MAX_TEXT)}… (${left} more characters)` : text
  }
  if (Array.isArray(value)) {
    const left = value.length - MAX_ENTRIES
    return [...value.slice(0, MAX_ENTRIES).map(shorten), ...(left > 0 ? [`… ${left} more`] : [])]
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shorten(inner)]))
}

export class TextTranscript implements Transcript {
  readonly #write: (text: string) => void
  readonly #color: boolean
  #steps = 0

  constructor(write: (text: string) => void, color: boolean) {
    this.#write = write
    this.#color = color
  }

  #paint(code: number, text: string): string {
    return this.#color ? `\u001b[${code}m${text}\u001b[0m` : text
  }

  #line(text: string): void {
    this.#write(`${mask(text)}\n`)
  }

  step(_id: string, title: string): void {
    this.#steps++
    this.#line(`\n${this.#paint(1, `${this.#steps}. ${title}`)}`)
  }

  show(exchange: DemoExchange): void {
    this.#line(`   ${this.#paint(36, `> ${exchange.method} ${exchange.url}`)}`)
    this.#headers(REQUEST_HEADERS, exchange.headers)
    this.#body(bodyOf(exchange))
    this.#responseLine(exchange)
    this.#headers(RESPONSE_HEADERS, exchange.responseHeaders)
    this.#body(exchange.response)
  }

  showMany(exchanges: readonly DemoExchange[]): void {
    for (const exchange of exchanges) {
      this.#line(`   ${this.#paint(36, `> ${exchange.method} ${exchange.url}`)}`)
      this.#responseLine(exchange)
    }
  }

  #responseLine({ status, tookMs }: DemoExchange): void {
    this.#line(
      `   ${this.#paint(status < 400 ? 32 : 33, `< ${status} ${STATUS_CODES[status] ?? ''}`)}  (${tookMs} ms)`,
    )
  }

  #headers(names: readonly string[], headers: { readonly [name: string]: string }): void {
    for (const name of names)
      if (headers[name] !== undefined) this.#line(`     ${this.#paint(2, `${name}: ${headers[name]}`)}`)
  }

  #body(body: unknown): void {
    if (body === undefined || body === '') return
    const text = typeof body === 'string' ? body : JSON.stringify(shorten(body), undefined, 2)
    const lines = text.split('\n')
    for (const line of lines.slice(0, MAX_LINES)) this.#line(`     ${line}`)
    if (lines.length > MAX_LINES) this.#line(`     … ${lines.length - MAX_LINES} more lines`)
  }

  note(text: string): void {
    this.#line(`   ${text}`)
  }

  ok(text: string): void {
    this.#line(`   ${this.#paint(32, 'ok')} ${text}`)
  }

  fail(expected: string, got: string): void {
    this.#line(`\n   ${this.#paint(31, 'FAILED')}\n   expected ${expected}\n   got      ${got}\n`)
  }

  end(): void {
    this.#line(`\n${this.#paint(32, `All ${this.#steps} steps passed.`)}\n`)
  }
}

interface JsonStep {
  readonly step: string
  readonly title: string
  readonly exchanges: object[]
  readonly notes: string[]
  readonly checked: string[]
}

export class JsonTranscript implements Transcript {
  readonly #write: (text: string) => void
  #current: JsonStep | undefined

  constructor(write: (text: string) => void) {
    this.#write = write
  }

  step(id: string, title: string): void {
    this.#flush({ ok: true })
    this.#current = { step: id, title, exchanges: [], notes: [], checked: [] }
  }

  show(exchange: DemoExchange): void {
    const { method, url, headers, status, responseHeaders, response, tookMs } = exchange
    const body = bodyOf(exchange)
    this.#current?.exchanges.push({
      request: { method, url, headers, ...(body === undefined ? undefined : { body }) },
      response: { status, headers: responseHeaders, body: response },
      took_ms: tookMs,
    })
  }

  showMany(exchanges: readonly DemoExchange[]): void {
    for (const exchange of exchanges) this.show(exchange)
  }

  note(text: string): void {
    this.#current?.notes.push(text)
  }

  ok(text: string): void {
    this.#current?.checked.push(text)
  }

  fail(expected: string, got: string): void {
    this.#flush({ ok: false, expected, got })
  }

  end(): void {
    this.#flush({ ok: true })
  }

  #flush(outcome: object): void {
    if (this.#current !== undefined)
      this.#write(`${mask(JSON.stringify({ ...this.#current, ...outcome }))}\n`)
    this.#current = undefined
  }
}
