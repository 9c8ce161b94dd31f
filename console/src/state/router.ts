/** The address as state: path below the base of the page, and the query, of which some filters are kept from page to page. */
import { computed, signal } from '@preact/signals'

/** Path of the console or portal, with the prefix of a proxy; ends with `/`. */
const BASE = new URL(document.baseURI).pathname

/** Filters that mean the same on every page. */
const KEPT = ['tenant', 'consumer', 'tool', 'gateways'] as const

const address = signal(read())

function read(): { readonly path: string; readonly query: URLSearchParams } {
  const { pathname, search } = window.location
  const path = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : ''
  return { path: path.replace(/\/$/, ''), query: new URLSearchParams(search) }
}

export const path = computed(() => address.value.path)
export const segments = computed(() => path.value.split('/').map(decode))
export const query = computed(() => address.value.query)

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

type Params = Readonly<Record<string, string | number | undefined>>

/** Address of a page with the kept filters. @param params '' removes a filter */
export function href(to: string, params: Params = {}): string {
  const next = new URLSearchParams()
  for (const name of KEPT) {
    const value = query.value.get(name)
    if (value !== null && value !== '') next.set(name, value)
  }
  apply(next, params)
  return BASE + to + text(next)
}

function apply(target: URLSearchParams, params: Params): void {
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === '') target.delete(name)
    else target.set(name, String(value))
  }
}

function text(params: URLSearchParams): string {
  const joined = params.toString()
  return joined === '' ? '' : `?${joined}`
}

export function navigate(to: string, params: Params = {}): void {
  show(href(to, params), 'push')
}

/** Changes filters of the page that is shown. */
export function setQuery(params: Params): void {
  const next = new URLSearchParams(query.value)
  apply(next, params)
  show(BASE + path.value + text(next), 'replace')
}

/** Path and query below the base, for the return from the login. */
export function returnAddress(): string {
  return path.value + text(query.value)
}

function show(target: string, how: 'push' | 'replace'): void {
  if (how === 'push') history.pushState(null, '', target)
  else history.replaceState(null, '', target)
  const before = path.value
  address.value = read()
  if (path.value !== before) window.scrollTo(0, 0)
}

/** Follows links below the base without loading the page again. */
export function followLinks(): void {
  window.addEventListener('popstate', () => {
    address.value = read()
  })
  document.addEventListener('click', event => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
      return
    const link = (event.target as Element | null)?.closest('a')
    if (link === null || link === undefined || link.target !== '' || link.hasAttribute('data-reload')) return
    const target = new URL(link.href)
    if (target.origin !== window.location.origin || !target.pathname.startsWith(BASE) || target.hash !== '')
      return
    event.preventDefault()
    show(target.pathname + target.search, 'push')
  })
}
