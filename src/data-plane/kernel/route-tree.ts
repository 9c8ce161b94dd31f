/** Route definitions → a tree of segments, validated. */
import { getOrSet } from '../../base/once-per.ts'
import { MAX_PARAMS, MAX_SEGMENTS } from './abi.ts'
import type { RouteDefinition } from './kernel.ts'
import { routeMethodNumber } from './method.ts'

/** Method number → the row of the table. */
export type Leaf = Map<number, number>

export interface RouteNode {
  readonly literals: Map<string, RouteNode>
  param: RouteNode | undefined
  /** Routes whose pattern ends with the segment that leads here. */
  leaf: Leaf | undefined
  /** Routes whose pattern goes on with `*` from here. */
  catchAll: Leaf | undefined
}

/**
 * @param canonical the canonical form of a path, undefined when the path is refused.
 * @throws Error naming the row and what is wrong with it.
 */
export function buildRouteTree(
  routes: readonly RouteDefinition[],
  canonical: (path: string) => string | undefined,
): RouteNode {
  const root = emptyNode()
  for (const [row, route] of routes.entries()) {
    const method = routeMethodNumber(route.method)
    if (method === undefined)
      throw fault(row, route, 'its method must be "*", "PATCH" or a method of RFC 9110, in upper case')
    const leaf = leafOf(root, patternSegments(row, route, canonical))
    const other = leaf.get(method)
    if (other !== undefined)
      throw fault(
        row,
        route,
        `row ${other} (${routes[other]!.pattern}) matches the same requests; remove one of them`,
      )
    leaf.set(method, row)
  }
  return root
}

/** `/a/{id}/*` → `a`, `{id}`, `*`. */
function patternSegments(
  row: number,
  route: RouteDefinition,
  canonicalOf: (path: string) => string | undefined,
): string[] {
  const segments = route.pattern.split('/').slice(1)
  const literal = segments.map((segment, at) => {
    if (isParam(segment) || (segment === '*' && at === segments.length - 1)) return 'x'
    if (/[{}*]/.test(segment))
      throw fault(
        row,
        route,
        `"${segment}" is neither a whole {parameter} segment nor a last segment "*"; use braces only around a whole segment, and "*" only as the last segment`,
      )
    return segment
  })
  const path = `/${literal.join('/')}`
  const canonical = route.pattern.startsWith('/') ? canonicalOf(path) : ''
  if (canonical !== path)
    throw fault(
      row,
      route,
      `the pattern is not a canonical path (RFC 3986 §6.2.2), so no request could match it; ${canonical === undefined ? 'remove the characters that a path must not contain' : 'begin it with "/", remove empty and dot segments, and percent-encode characters that a URI cannot contain'}`,
    )
  if (segments.length > MAX_SEGMENTS) throw fault(row, route, `it has more than ${MAX_SEGMENTS} segments`)
  const params = segments.filter(segment => isParam(segment) || segment === '*').length
  if (params > MAX_PARAMS) throw fault(row, route, `it has more than ${MAX_PARAMS} parameters`)
  return segments
}

function isParam(segment: string): boolean {
  return /^\{[^{}]+\}$/.test(segment)
}

function leafOf(root: RouteNode, segments: readonly string[]): Leaf {
  let node = root
  for (const segment of segments) {
    if (segment === '*') {
      node.catchAll ??= new Map()
      return node.catchAll
    }
    if (isParam(segment)) {
      node.param ??= emptyNode()
      node = node.param
    } else node = getOrSet(node.literals, segment, emptyNode)
  }
  node.leaf ??= new Map()
  return node.leaf
}

function emptyNode(): RouteNode {
  return { literals: new Map(), param: undefined, leaf: undefined, catchAll: undefined }
}

function fault(row: number, route: RouteDefinition, reason: string): Error {
  return new Error(`route ${row} (${route.method} ${route.pattern}): ${reason}`)
}
