/** Maps addresses of the upstream in response headers to the addresses by which clients call the API. `proxy-headers.ts` selects the headers. */
import { oncePer } from '../../base/once-per.ts'
import type { CompiledApi } from '../snapshot/snapshot.ts'

type AddressedApi = Pick<CompiledApi, 'prefix' | 'upstreamUrl' | 'traffic'>

/** A delay, then an address with or without quotes (HTML, "http-equiv Refresh"). */
const REFRESH = /^(\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?)(["']?)(.+?)(\2\s*)$/i
/** A quoted text, or the target of a link (RFC 8288 §3). */
const QUOTED_OR_TARGET = /"(?:[^"\\]|\\.)*"|<([^<>]*)>/g

/** @param name of the header, in lower case. @returns the value that the client receives: an address that is not below the upstream is unchanged */
export function mapAddresses(name: string, value: string, api: AddressedApi): string {
  switch (name) {
    case 'location':
    case 'content-location':
      return mapAddress(value, api)
    case 'link':
      return value.replace(QUOTED_OR_TARGET, (whole, target?: string) =>
        target === undefined ? whole : `<${mapAddress(target, api)}>`,
      )
    case 'refresh':
      return value.replace(
        REFRESH,
        (_, delay: string, quote: string, address: string, end: string) =>
          `${delay}${quote}${mapAddress(address, api)}${end}`,
      )
    case 'set-cookie':
      return cookieWithin(api, value)
    default:
      return value
  }
}

/** An address becomes a path, because the gateway has as many names as its clients use. */
function mapAddress(address: string, api: AddressedApi): string {
  if (address.startsWith('/') && !address.startsWith('//')) return mapPath(address, api)
  if (!/^(?:https?:)?\/\//i.test(address)) return address
  for (const base of basesOf(api)) {
    const url = URL.canParse(address, base.href) ? new URL(address, base) : undefined
    if (url?.origin !== base.origin) continue
    const rest = restBelow(base, url.pathname)
    if (rest !== undefined) return `${api.prefix}${rest}${url.search}${url.hash}`
  }
  return address
}

/** A path that begins with the prefix was made by an upstream that knows `X-Forwarded-Prefix`. */
function mapPath(path: string, api: AddressedApi): string {
  if (isBelow(api.prefix, path)) return path
  for (const base of basesOf(api)) {
    const rest = restBelow(base, path)
    if (rest !== undefined) return `${api.prefix}${rest}`
  }
  return path
}

/** The cookie without its Domain, for the addresses of the API only (RFC 6265 §4.1.2). */
function cookieWithin(api: AddressedApi, cookie: string): string {
  const [pair, ...attributes] = cookie.split(';').map(part => part.trim())
  const given = attributes.findLast(one => /^path\s*=/i.test(one))?.replace(/^path\s*=\s*/i, '')
  const path = given?.startsWith('/') ? mapPath(given, api) : api.prefix
  const kept = attributes.filter(one => !/^(?:domain|path)\b/i.test(one))
  return [pair, ...kept, `Path=${isBelow(api.prefix, path) ? path : api.prefix}`].join('; ')
}

const basesOf = oncePer(({ upstreamUrl, traffic }: AddressedApi): readonly URL[] => {
  const addresses = traffic?.upstreams?.addresses ?? []
  return [upstreamUrl, ...addresses.map(({ url }) => url)].map(url => new URL(url))
})

/** @returns what follows the path of the base, with its leading slash or ''; undefined: it has another path */
function restBelow(base: URL, path: string): string | undefined {
  const prefix = base.pathname.replace(/\/+$/, '')
  return isBelow(prefix, path) ? path.slice(prefix.length) : undefined
}

function isBelow(prefix: string, path: string): boolean {
  return path.startsWith(prefix) && (path.length === prefix.length || /[/?#]/.test(path[prefix.length]!))
}
