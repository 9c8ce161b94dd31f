/** Responses of the OAuth endpoints as plain values, their common forms and headers, and a parser of JSON objects. */

export interface OAuthResponse {
  readonly status: number
  /** Flat: name, value, name, value … lower case names; `content-type` included. */
  readonly headers: readonly string[]
  readonly body: string | Uint8Array
}

/** RFC 6749 §5.1: responses with tokens or credentials must not be cached. */
export const NO_STORE: readonly string[] = ['cache-control', 'no-store', 'pragma', 'no-cache']

export function json(status: number, body: object, headers: readonly string[] = []): OAuthResponse {
  return { status, headers: ['content-type', 'application/json', ...headers], body: JSON.stringify(body) }
}

/** RFC 6749 §5.2 and RFC 7591 §3.2.2. */
export function oauthError(
  status: number,
  error: string,
  description: string,
  headers: readonly string[] = [],
): OAuthResponse {
  return json(status, { error, error_description: description }, [...NO_STORE, ...headers])
}

/** Parses a JSON object; undefined for anything else. */
export function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(UTF8.decode(bytes))
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? (parsed as Readonly<Record<string, unknown>>)
      : undefined
  } catch {
    return undefined
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })
