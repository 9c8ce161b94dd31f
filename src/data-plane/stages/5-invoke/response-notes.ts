/** Notes about a backend response, from its status and header fields: sentences for the model and data for programs. */
import type { EgressHeaders } from '../../../net/egress/egress.ts'

/** What `_meta` holds of a backend response under `toolgate.dev/backend`. */
interface BackendMeta {
  readonly status: number
  readonly location?: string
  /** As received: seconds or an HTTP date. */
  readonly retryAfter?: string
  /** Where the same content can be read, if the backend says so (RFC 9110 §8.7). */
  readonly contentLocation?: string
  readonly links?: readonly { readonly rel: string; readonly uri: string }[]
}

interface ResponseNotes {
  readonly sentences: readonly string[]
  readonly meta: { readonly 'toolgate.dev/backend': BackendMeta }
}

const MAX_CHARS = 2_000
const MAX_LINKS = 10

/** @returns undefined when the response says nothing of the kind */
export function responseNotes(status: number, headers: EgressHeaders): ResponseNotes | undefined {
  const location = headers.get('location').slice(0, MAX_CHARS)
  const retryAfter = headers.get('retry-after').slice(0, 100)
  const link = headers.get('link')
  const contentLocation = headers.get('content-location').slice(0, MAX_CHARS)
  const isRedirect = status >= 300 && status < 400 && status !== 304
  if (location + retryAfter + link + contentLocation === '' && status !== 202 && !isRedirect) return undefined
  const links = linksOf(link)
  const meta = {
    status,
    ...(location === '' ? undefined : { location }),
    ...(retryAfter === '' ? undefined : { retryAfter }),
    ...(contentLocation === '' ? undefined : { contentLocation }),
    ...(links.length === 0 ? undefined : { links }),
  }
  const sentences = [
    locationSentence(status, location, isRedirect),
    retryAfter === '' ? '' : waitSentence(retryAfter),
    links.length === 0 ? '' : `Links: ${links.map(({ rel, uri }) => `${rel} ${uri}`).join(', ')}`,
  ].filter(sentence => sentence !== '')
  return { sentences, meta: { 'toolgate.dev/backend': meta } }
}

function locationSentence(status: number, location: string, isRedirect: boolean): string {
  if (isRedirect) {
    return location === ''
      ? 'The backend redirects, but its response has no Location header.'
      : `The backend redirects to ${location}. The gateway does not follow redirects.`
  }
  if (status === 202) {
    return location === ''
      ? 'The backend accepted the request but has not finished it. The response does not contain the address of the result.'
      : `The backend accepted the request but has not finished it. The result will be at ${location}`
  }
  return location === '' ? '' : `${status === 201 ? 'Created at' : 'Location:'} ${location}`
}

/** RFC 9110 §10.2.3: seconds or a date. */
function waitSentence(value: string): string {
  return /^\d+$/.test(value)
    ? `Wait ${value} s before the next call.`
    : `Wait until ${value} before the next call.`
}

/** RFC 8288 §3. A comma inside the angle brackets belongs to the address. */
function linksOf(field: string): { readonly rel: string; readonly uri: string }[] {
  const links: { rel: string; uri: string }[] = []
  for (const [, uri, parameters] of field.slice(0, 16_384).matchAll(/<([^<>]{1,2000})>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*"?([^";,]{1,100})/i.exec(parameters!)?.[1]?.trim()
    if (rel !== undefined && links.length < MAX_LINKS) links.push({ rel, uri: uri! })
  }
  return links
}
