/** Finds the route of a request. It runs no handler and knows no path by name. */
import type { ShopRequest, ShopResponse } from './request.ts'

export interface Route {
  readonly method: string
  /** As in the OpenAPI document, with `{name}` segments. */
  readonly path: string
  readonly handle: (request: ShopRequest) => ShopResponse | Promise<ShopResponse>
}

export type Match =
  | { readonly kind: 'route'; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  /** The path exists with these methods only. */
  | { readonly kind: 'method'; readonly allow: readonly string[] }
  | { readonly kind: 'none' }

export class ShopRouter {
  readonly #routes: readonly { readonly route: Route; readonly segments: readonly string[] }[]

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map(route => ({ route, segments: route.path.split('/') }))
  }

  find(method: string, path: string): Match {
    const parts = path.split('/')
    const allow: string[] = []
    for (const { route, segments } of this.#routes) {
      const params = paramsOf(segments, parts)
      if (params === undefined) continue
      if (route.method === method) return { kind: 'route', route, params }
      allow.push(route.method)
    }
    return allow.length === 0 ? { kind: 'none' } : { kind: 'method', allow }
  }
}

function paramsOf(
  segments: readonly string[],
  parts: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (segments.length !== parts.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, segment] of segments.entries()) {
    const part = parts[at]!
    if (!segment.startsWith('{')) {
      if (segment !== part) return undefined
      continue
    }
    const value = decoded(part)
    if (value === undefined || value === '') return undefined
    params[segment.slice(1, -1)] = value
  }
  return params
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
