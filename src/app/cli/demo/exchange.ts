/** Sends an HTTP request and returns it with its response, as plain data. */
import { BodyTooLarge, type ResponseBody, readResponseBody, requestIdOf } from '../response-body.ts'
import { DemoFailure } from './demo-failure.ts'

const TIMEOUT_MS = 10_000

export interface Asked {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** An object is sent as JSON, URLSearchParams as a form. */
  readonly body?: object
}

export interface DemoExchange extends Asked {
  readonly status: number
  readonly statusText: string
  readonly responseHeaders: { readonly [name: string]: string }
  /** JSON, the JSON-RPC response of an event stream, or text. */
  readonly response: unknown
  readonly tookMs: number
}

/** @throws DemoFailure without a response, or with one that is too large. */
export async function exchange(asked: Asked): Promise<DemoExchange> {
  const { method, url, body } = asked
  const form = body instanceof URLSearchParams
  const json = body !== undefined && !form
  const headers = json ? { 'content-type': 'application/json', ...asked.headers } : asked.headers
  const startedAt = performance.now()
  try {
    const response = await fetch(url, {
      method,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? undefined : { body: form ? body : JSON.stringify(body) }),
    })
    const read = await readResponseBody(response, requestIdOf(body))
    return {
      ...asked,
      headers,
      status: response.status,
      statusText: response.statusText,
      responseHeaders: Object.fromEntries(response.headers),
      response: responseOf(read, response.headers.get('content-type') ?? ''),
      tookMs: Math.round(performance.now() - startedAt),
    }
  } catch (error) {
    if (error instanceof BodyTooLarge) throw new DemoFailure(`a smaller response from ${url}`, error.message)
    throw new DemoFailure(
      `a response from ${url}`,
      `${causeOf(error)}. Check that the server at this address runs. 'npm start' starts all servers that the demo needs.`,
    )
  }
}

function responseOf({ isStream, text, json }: ResponseBody, type: string): unknown {
  return json !== undefined && (isStream || /json/i.test(type)) ? json : text
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message
}
