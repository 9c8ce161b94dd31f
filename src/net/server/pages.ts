/** The pages for people to which `GET /` of a listener leads. */

/** Name → reference; a relative one holds under every name and path prefix of the listener. The first is the start page. */
export type Pages = Readonly<Record<string, string>>

/** The response depends on `Accept`; the header `Vary` belongs to the rule of CORS. */
export const NOT_STORED = ['cache-control', 'no-store'] as const

/** A browser takes the body for what its type says, and nothing else. */
export const NOSNIFF = ['x-content-type-options', 'nosniff'] as const

/** Where a client that asks for HTML is led; undefined: it gets `linksTo` as every other client does. */
export function startPage(accept: string, pages: Pages): string | undefined {
  return accept.includes('text/html') ? Object.values(pages)[0] : undefined
}

/** @param url public address of the listener, without trailing slash */
export function linksTo(pages: Pages, url: string): Pages {
  return Object.fromEntries(
    Object.entries(pages).map(([name, reference]) => [name, new URL(reference, `${url}/`).href]),
  )
}
