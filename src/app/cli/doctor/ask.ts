/** Sends an HTTP request with bounds for time and size, and summarizes its response. */
import { isObject } from '../../../base/json/is-object.ts'
import { BodyTooLarge, readResponseBody, requestIdOf } from '../response-body.ts'
import { Fault } from './fault.ts'

/** Above the 10 s after which an HTTP/1.0 request to the gateway ends as a 502 of nginx (docs/edge.md). */
const TIMEOUT_MS = 15_000
const NOT_READ = { text: '', json: undefined }

export interface FetchedResponse {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, or the JSON-RPC response of an event stream; undefined when there is none, or with `headOnly`. */
  readonly json: unknown
}

export interface DoctorRequest {
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'OPTIONS'
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON, URLSearchParams as a form. */
  readonly body?: object
  /** Reads only the head: an event stream does not end. */
  readonly headOnly?: boolean
}

/** @throws Fault when the server does not respond, or its response is too large. */
export async function ask(url: string, question: DoctorRequest = {}): Promise<FetchedResponse> {
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
    const { text, json } = headOnly ? NOT_READ : await readResponseBody(response, requestIdOf(body))
    if (headOnly) controller.abort()
    return {
      method,
      url,
      status: response.status,
      headers: response.headers,
      text,
      json,
    }
  } catch (error) {
    if (error instanceof BodyTooLarge)
      throw new Fault(
        error.message,
        'If the response is a list of tools, serve fewer tools, or shorten the descriptions and schemas of the tools.',
      )
    const reason = controller.signal.aborted
      ? `did not respond within ${TIMEOUT_MS / 1000} s`
      : `cannot be reached: ${causeOf(error)}`
    throw new Fault(
      `${method} ${url} ${reason}.`,
      'Check that the server at this address runs, that the address is correct, and that no proxy or firewall blocks it.',
    )
  } finally {
    clearTimeout(timer)
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  // a host with several addresses fails with one error for each
  const [first] = cause instanceof AggregateError ? (cause.errors as Error[]) : [cause]
  return first?.message || cause.message || error.message
}

/** A one-line summary of the response. */
export function describeResponse({ method, url, status, headers, text }: FetchedResponse): string {
  const start = text.replace(/\s+/g, ' ').trim().slice(0, 160)
  const type = (headers.get('content-type') ?? 'no content type').split(';')[0]
  return `${method} ${url} returned ${status} (${type})${start === '' ? '' : `: ${start}`}`
}

/** The body as a JSON object; undefined when it is not one. */
export function objectOf(response: FetchedResponse): Readonly<Record<string, unknown>> | undefined {
  const { json } = response
  return isObject(json) ? json : undefined
}
