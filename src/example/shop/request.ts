/** The request and response types of handlers. It reads bodies up to a limit and routes nothing. */
import type { IncomingMessage } from 'node:http'
import { ShopFields } from './fields.ts'
import { ShopProblem } from './problem.ts'

const MAX_BODY_BYTES = 64 * 1024

export interface ShopResponse {
  readonly status: number
  /** Sent as JSON; absent for 204. */
  readonly body?: unknown
  readonly headers?: { readonly [name: string]: string }
  /** Sent line by line as NDJSON instead of `body`. */
  readonly lines?: AsyncIterable<object>
}

/** How the text of a query parameter becomes a value; what does not fit stays text and is then refused by its reader. */
export interface QueryShape {
  readonly integers?: readonly string[]
  readonly flags?: readonly string[]
  /** Repeated (`a=1&a=2`) or comma-separated. */
  readonly lists?: readonly string[]
  /** `name[key]=value`, with whole numbers as values. */
  readonly objects?: readonly string[]
}

export class ShopRequest {
  readonly params: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly #message: IncomingMessage
  readonly #query: URLSearchParams
  #body: unknown

  constructor(
    message: IncomingMessage,
    params: Readonly<Record<string, string>>,
    query: URLSearchParams,
    signal: AbortSignal,
  ) {
    this.#message = message
    this.params = params
    this.#query = query
    this.signal = signal
  }

  /** Value of a path parameter, which the route guarantees. */
  param(name: string): string {
    return this.params[name]!
  }

  header(name: string): string | undefined {
    const value = this.#message.headers[name]
    return typeof value === 'string' ? value : undefined
  }

  query(shape: QueryShape): ShopFields {
    const values: Record<string, unknown> = {}
    for (const [key, text] of this.#query) {
      const inner = /^([^[\]]+)\[([^[\]]+)\]$/.exec(key)
      if (inner !== null && shape.objects?.includes(inner[1]!) === true) {
        const held = (values[inner[1]!] ?? {}) as Record<string, unknown>
        values[inner[1]!] = { ...held, [inner[2]!]: wholeNumber(text) }
      } else if (shape.lists?.includes(key) === true) {
        values[key] = [...((values[key] as string[] | undefined) ?? []), ...text.split(',')]
      } else if (shape.integers?.includes(key) === true) values[key] = wholeNumber(text)
      else if (shape.flags?.includes(key) === true)
        values[key] = text === 'true' ? true : text === 'false' ? false : text
      else values[key] = text
    }
    return new ShopFields(values, '')
  }

  /** The JSON body as fields; `{}` where a body is optional and absent. */
  body(): ShopFields {
    return new ShopFields(this.#body ?? {}, '/')
  }

  /** The body as it was parsed, for comparing repeated requests. */
  get rawBody(): unknown {
    return this.#body
  }

  /** @throws Problem 413, 415 or 400 (not JSON). */
  async readBody(): Promise<void> {
    const declared = Number(this.#message.headers['content-length'] ?? 0)
    if (declared > MAX_BODY_BYTES) throw tooLarge()
    const parts: Buffer[] = []
    let size = 0
    for await (const part of this.#message as AsyncIterable<Buffer>) {
      size += part.length
      if (size > MAX_BODY_BYTES) throw tooLarge()
      parts.push(part)
    }
    if (size === 0) return
    const type = this.header('content-type')?.split(';')[0]?.trim().toLowerCase()
    if (type !== 'application/json') {
      throw new ShopProblem(415, 'media-type', 'The media type is not supported.', 'Send application/json.')
    }
    try {
      this.#body = JSON.parse(Buffer.concat(parts).toString('utf8'))
    } catch {
      throw new ShopProblem(
        400,
        'not-json',
        'The body is not JSON.',
        'Send one JSON value, encoded as UTF-8.',
      )
    }
  }
}

function wholeNumber(text: string): unknown {
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

function tooLarge(): ShopProblem {
  const headers = { connection: 'close' } // what is left of the body is not read
  const detail = `Send at most ${MAX_BODY_BYTES} bytes.`
  return new ShopProblem(413, 'too-large', 'The body is too large.', detail, { headers })
}
