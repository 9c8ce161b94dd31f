/** Splits an outgoing URL into the origin to connect to and the path to send, or says why it cannot be called. */
import { isUnixUrl, readUnixUrl } from '../../model/upstream-url.ts'

export interface Target {
  /** Canonical, e.g. `http://127.0.0.1:8090` or `http+unix://%2Frun%2Fshop.sock`: WHATWG rules have folded odd spellings of the host. */
  readonly origin: string
  /** Path and query exactly as given, without fragment; `/` when there is none. */
  readonly path: string
}

/** Origins by the text they were spelled with: parsing one costs a microsecond, and a gateway sees the same few. */
const ORIGINS_CACHED = 1024

export class TargetParser {
  readonly #origins = new Map<string, string>()
  /** The last one of them, which the next URL usually has too. */
  #last = { spelled: '', origin: '' }
  readonly #takesSockets: boolean

  /** @param takesSockets whether a Unix socket may be called at all */
  constructor(takesSockets: boolean) {
    this.#takesSockets = takesSockets
  }

  /** The two parts, or the reason why the URL cannot be called. */
  parse(url: string): Target | string {
    let { spelled, origin } = this.#last
    let end = spelled.length
    if (end === 0 || !url.startsWith(spelled) || !endsAuthority(url, end)) {
      const scheme = url.indexOf('://')
      if (scheme < 0) return 'the address is not an absolute URL'
      end = scheme + 3
      while (!endsAuthority(url, end)) end++
      spelled = url.slice(0, end)
      origin = this.#origins.get(spelled) ?? this.#learn(spelled)
      if (!origin.startsWith('http')) return origin
      this.#last = { spelled, origin }
    }
    const hash = url.indexOf('#', end)
    const path = hash < 0 ? url.slice(end) : url.slice(end, hash)
    if (!isVisibleAscii(path))
      return 'the path contains a space, a control character or a non-ASCII character; percent-encode it'
    return { origin, path: path.charCodeAt(0) === SLASH ? path : `/${path}` }
  }

  #learn(spelled: string): string {
    const origin = readOrigin(spelled, this.#takesSockets)
    if (origin.startsWith('http')) {
      if (this.#origins.size >= ORIGINS_CACHED) this.#origins.clear()
      this.#origins.set(spelled, origin)
    }
    return origin
  }
}

/** RFC 3986 §3.2: the authority ends at the next slash, question mark or number sign, or with the URL. */
function endsAuthority(url: string, at: number): boolean {
  if (at === url.length) return true
  const code = url.charCodeAt(at)
  return code === SLASH || code === QUESTION || code === HASH
}

const SLASH = 0x2f
const QUESTION = 0x3f
const HASH = 0x23

export const ONLY_UPSTREAMS = 'a Unix socket is allowed only as the address of an upstream'

/** The canonical origin, or a reason (which never begins with `http`). */
function readOrigin(spelled: string, takesSockets: boolean): string {
  // A backslash would end the authority for WHATWG but not for other parsers; such doubt is refused, not settled.
  if (!isVisibleAscii(spelled) || spelled.includes('\\')) return 'the host of the address is not valid'
  if (isUnixUrl(spelled)) {
    if (!takesSockets) return ONLY_UPSTREAMS
    const read = readUnixUrl(spelled)
    return typeof read === 'string' ? read : read.origin
  }
  const url = URL.canParse(spelled) ? new URL(spelled) : undefined
  if (url === undefined) return 'the host of the address is not valid'
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'the address is neither http nor https'
  if (url.username !== '' || url.password !== '') return 'the address contains a user name or password'
  return url.origin
}

function isVisibleAscii(text: string): boolean {
  for (let at = 0, { length } = text; at < length; at++) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || code >= 0x7f) return false
  }
  return true
}
