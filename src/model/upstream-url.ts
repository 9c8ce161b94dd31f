/** Addresses of upstreams over http(s) or Unix sockets: origins, socket paths, faults, and references within an origin. */

const PREFIX = 'http+unix://'
/** `sun_path` of Linux without its closing NUL (unix(7)); a longer path would be cut off, and name another socket. */
const MAX_SOCKET_PATH_BYTES = 107
/** Text that could name a Unix socket; everything else is left to the rules of http(s). */
const LOOKS_UNIX = /^http\+unix:/i
const EXAMPLE = `${PREFIX}%2Frun%2Fshop.sock`

export function isUnixUrl(url: string): boolean {
  return LOOKS_UNIX.test(url)
}

/** The origin of an address that `isUnixUrl`, always spelled the same, or the reason why it names no socket. */
export function readUnixUrl(url: string): { readonly origin: string } | string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^http\+unix:\/\//i.test(url))
    return `the address of the Unix socket is not valid: percent-encode the socket path and use it as the host, as in "${EXAMPLE}"`
  if (parsed.username !== '' || parsed.password !== '') return 'the address contains a user name or password'
  if (parsed.port !== '') return 'the address of a Unix socket must not have a port'
  if (parsed.hostname === '')
    return `the address names no Unix socket: percent-encode the socket path and use it as the host, as in "${EXAMPLE}"`
  const path = decodePart(parsed.hostname)
  if (path === undefined) return 'the path of the Unix socket is not valid percent-encoded UTF-8'
  const fault = socketPathFault(path)
  return fault === undefined ? { origin: unixOrigin(path) } : `the path of the Unix socket ${fault}`
}

/** Why no socket can be listed or reached by this path; undefined when one can. */
export function socketPathFault(path: string): string | undefined {
  if (!path.startsWith('/')) return 'is not absolute'
  if (/[\u0000-\u001f\u007f]/.test(path)) return 'contains a NUL or another control character'
  if (
    path.split('/').some((segment, at) => at > 0 && (segment === '' || segment === '.' || segment === '..'))
  )
    return 'contains an empty segment, "." or ".."; remove that segment'
  const bytes = new TextEncoder().encode(path).byteLength
  if (bytes > MAX_SOCKET_PATH_BYTES)
    return `has ${bytes} bytes, and the system allows ${MAX_SOCKET_PATH_BYTES} bytes; use a shorter path`
  return undefined
}

export function unixOrigin(socketPath: string): string {
  return PREFIX + encodeURIComponent(socketPath)
}

/** @param origin as `originOf` returns it @returns undefined for one of http(s) */
export function socketPathOf(origin: string): string | undefined {
  return origin.startsWith(PREFIX) ? decodePart(origin.slice(PREFIX.length)) : undefined
}

/** Scheme with host and port, or with the socket, in one spelling; undefined for other text. */
export function originOf(url: string): string | undefined {
  if (isUnixUrl(url)) {
    const read = readUnixUrl(url)
    return typeof read === 'string' ? undefined : read.origin
  }
  // "null" is the origin of all other schemes: two of them are not the same place
  const origin = URL.canParse(url) ? new URL(url).origin : 'null'
  return origin === 'null' ? undefined : origin
}

/**
 * A reference in a response, within the origin of the request. An upstream behind a Unix socket knows itself as the host it is called
 * with, `localhost`.
 * @returns undefined when it leads to another origin
 */
export function resolveWithin(reference: string, base: string): string | undefined {
  if (!URL.canParse(reference, base)) return undefined
  const url = new URL(reference, base)
  const origin = originOf(base)
  if (origin === undefined) return undefined
  if (url.origin === 'http://localhost' && socketPathOf(origin) !== undefined)
    return `${origin}${url.pathname}${url.search}${url.hash}`
  return originOf(url.href) === origin ? url.href : undefined
}

function decodePart(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
