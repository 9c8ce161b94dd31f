/** Writes the header fields of an outgoing HTTP/2 request (RFC 9113 §8.2 and §8.3). */
import { type OutgoingHttpHeaders, sensitiveHeaders } from 'node:http2'
import { joinedHeaders } from '../../joined-headers.ts'

interface HeadParts {
  readonly method: string
  readonly path: string
  /** Flat: name, value, name, value … */
  readonly headers: readonly string[]
  readonly headersOfCall: readonly string[]
}

/** Specific to a connection of HTTP/1.1 (RFC 9113 §8.2.2): left out. */
const OF_THE_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'http2-settings'])
/** A caller who names one wants something that HTTP/2 has not, or would disagree with the frames. */
const REFUSED = new Set(['transfer-encoding', 'upgrade', 'expect', 'trailer'])
/** Calls of different callers share a connection: the credentials in these fields stay out of its compression (RFC 7541 §7.1.3). */
const CREDENTIALS = ['authorization', 'cookie', 'x-api-key']
const TOKEN = /^[!#$%&'*+\-.^_`|~\dA-Za-z]{1,256}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * @param bodyBytes undefined when the length is not known, null without a body
 * @returns undefined when a field cannot be sent
 */
export function http2Headers(
  origin: string,
  { method, path, headers, headersOfCall }: HeadParts,
  bodyBytes: number | null | undefined,
): OutgoingHttpHeaders | undefined {
  const scheme = origin.indexOf('://')
  const fields: Record<string, string> & { [sensitiveHeaders]: readonly string[] } = {
    ':method': method,
    ':scheme': origin.slice(0, scheme),
    ':authority': origin.slice(scheme + 3),
    ':path': path,
    [sensitiveHeaders]: CREDENTIALS,
  }
  const all = joinedHeaders(headers, headersOfCall)
  for (let at = 0; at + 1 < all.length; at += 2) {
    const name = all[at]!.toLowerCase()
    const value = all[at + 1]!
    if (!TOKEN.test(name) || !VALUE.test(value) || REFUSED.has(name)) return undefined
    if (OF_THE_CONNECTION.has(name)) continue
    if (name === 'host') fields[':authority'] = value
    else if (name === 'content-length' && bodyBytes !== undefined) {
      if (Number(value) !== (bodyBytes ?? 0)) return undefined
    } else add(fields, name, value)
  }
  if (typeof bodyBytes === 'number') fields['content-length'] = String(bodyBytes)
  return fields as OutgoingHttpHeaders
}

function add(fields: Record<string, string>, name: string, value: string): void {
  // names come from the caller: `constructor` is one
  const present = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (present === undefined) fields[name] = value
  // RFC 9110 §5.3; of cookies: RFC 9113 §8.2.3
  else fields[name] = `${present}${name === 'cookie' ? '; ' : ', '}${value}`
}
