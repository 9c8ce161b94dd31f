/** Chooses the server of an operation, and normalizes addresses of servers. */
import { ExactNumber } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import { isUnixUrl, originOf } from '../../model/upstream-url.ts'
import { type Dict, list, own, text } from './dict.ts'
import type { OpenDocument, RawOperation } from './document.ts'
import { modernServers } from './swagger2.ts'

type ServerChoice =
  | { readonly kind: 'base'; readonly baseUrl: string }
  | { readonly kind: 'none'; readonly reason: string }

/**
 * An absolute http(s) address without query, fragment, user info and trailing slash.
 * undefined when the address is invalid or holds user info.
 */
export function normalizeBaseUrl(address: string, relativeTo?: string): string | undefined {
  let url: URL
  try {
    url = relativeTo === undefined ? new URL(address) : new URL(address, relativeTo)
  } catch {
    return undefined
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined
  if (url.username !== '' || url.password !== '') return undefined
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}

/** The same of an upstream, which may listen on a Unix socket. */
export function normalizeUpstreamUrl(address: string, relativeTo?: string): string | undefined {
  if (!isUnixUrl(address)) return normalizeBaseUrl(address, relativeTo)
  const origin = originOf(address)
  return origin && `${origin}${new URL(address).pathname.replace(/\/+$/, '')}`
}

/** The first valid server; variables have their defaults (OpenAPI 3.1 §4.8.5). */
export function chooseServer(
  document: OpenDocument,
  raw: RawOperation,
  options: { readonly baseURL: string | undefined; readonly documentUrl: string | undefined },
): ServerChoice {
  if (options.baseURL !== undefined) {
    const baseUrl = normalizeUpstreamUrl(options.baseURL)
    if (baseUrl !== undefined) return { kind: 'base', baseUrl }
    return { kind: 'none', reason: 'spec.baseURL is not an absolute http(s) or http+unix address' }
  }
  for (const server of serversOf(document, raw)) {
    const address = isObject(server) ? withDefaults(server) : undefined
    const baseUrl = address === undefined ? undefined : normalizeUpstreamUrl(address, options.documentUrl)
    if (baseUrl !== undefined) return { kind: 'base', baseUrl }
  }
  return { kind: 'none', reason: 'the document has no server with an absolute address: set spec.baseURL' }
}

function serversOf(document: OpenDocument, raw: RawOperation): readonly unknown[] {
  const operation = isObject(raw.operation) ? raw.operation : {}
  if (document.dialect === '2.0') return modernServers(document, operation)
  for (const holder of [operation, raw.pathItem, document.root]) {
    const servers = list(own(holder, 'servers'))
    if (servers.length > 0) return servers
  }
  return [{ url: '/' }]
}

function withDefaults(server: Dict): string | undefined {
  const url = text(own(server, 'url'))
  if (url === undefined) return undefined
  const variables = own(server, 'variables')
  const filled = url.trim().replace(/\{([^{}]+)\}/g, (placeholder, name: string) => {
    const variable = isObject(variables) ? own(variables, name) : undefined
    if (!isObject(variable)) return placeholder
    const preset = own(variable, 'default') ?? list(own(variable, 'enum'))[0]
    const isText = typeof preset === 'string' || typeof preset === 'number' || preset instanceof ExactNumber
    return isText ? String(preset) : placeholder
  })
  return /[{}]/.test(filled) ? undefined : filled
}
