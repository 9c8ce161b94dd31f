/** One HTTP request as a careful client sends it: bounded in time and size, redirects shown and not followed. It judges no answer. */
import { Fault } from './fault.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024

export interface Answer {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** undefined when the body is no JSON. */
  readonly json: unknown
}

export interface Question {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON, URLSearchParams as a form. */
  readonly body?: object
  /** Only the head is wanted: an event stream has no end. */
  readonly headOnly?: boolean
}

/** @throws Fault when nobody answers. */
export async function ask(url: string, question: Question = {}): Promise<Answer> {
  const { method = question.body === undefined ? 'GET' : 'POST', body, headOnly = false } = question
  const isForm = body instanceof URLSearchParams
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS)
  try {
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      signal: controller.signal,
      headers: {
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...question.headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    })
    const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
    const text = headOnly ? '' : await read(response, isStream)
    if (headOnly) controller.abort()
    return {
      method,
      url,
      status: response.status,
      headers: response.headers,
      text,
      json: parsed(text, isStream),
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    const reason = controller.signal.aborted
      ? `did not answer within ${TIMEOUT_MS / 1000} s`
      : `cannot be reached: ${causeOf(error)}`
    throw new Fault(
      `${method} ${url} ${reason}.`,
      'Check that the gateway runs, that the address is the one it is reachable under, and that no proxy or firewall is in between.',
    )
  } finally {
    clearTimeout(timer)
  }
}

async function read(response: Response, isStream: boolean): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  if (response.body === null) return text
  const reader = response.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value, { stream: true })
    // the answer of a POST is the last event that matters; the stream may stay open behind it
    const isAnswered = isStream && lastMessage(text) !== undefined
    if (isAnswered || text.length > MAX_BYTES) {
      void reader.cancel().catch(() => {})
      if (isAnswered) return text
      throw new Fault(
        `${response.url} answered more than ${MAX_BYTES / 1024 / 1024} MiB.`,
        'Serve fewer tools, or shorten their descriptions and schemas.',
      )
    }
  }
}

function parsed(text: string, isStream: boolean): unknown {
  if (isStream) return lastMessage(text)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The JSON-RPC response among server-sent events. */
function lastMessage(text: string): unknown {
  for (const block of text.split('\n\n').slice(0, -1)) {
    const data = block
      .split('\n')
      .filter(line => line.startsWith('data:'))
      .map(line => line.slice(5).trim())
      .join('\n')
    if (data === '') continue
    try {
      const message = JSON.parse(data) as object
      if ('result' in message || 'error' in message) return message
    } catch {
      // no message
    }
  }
  return undefined
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  // a host with several addresses fails with one error for each
  const [first] = cause instanceof AggregateError ? (cause.errors as Error[]) : [cause]
  return first?.message || cause.message || error.message
}

/** The answer in a few words, for a person. */
export function describeAnswer({ method, url, status, headers, text }: Answer): string {
  const start = text.replace(/\s+/g, ' ').trim().slice(0, 160)
  const type = (headers.get('content-type') ?? 'no content type').split(';')[0]
  return `${method} ${url} answered ${status} (${type})${start === '' ? '' : `: ${start}`}`
}

/** The body as a JSON object; undefined when it is none. */
export function objectOf(answer: Answer): Readonly<Record<string, unknown>> | undefined {
  const { json } = answer
  return typeof json === 'object' && json !== null && !Array.isArray(json)
    ? (json as Readonly<Record<string, unknown>>)
    : undefined
}
