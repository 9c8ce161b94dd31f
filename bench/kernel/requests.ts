/** Route tables and request paths of the kernel's benches, as strings fresh from a socket. */
import type { RouteDefinition } from '../../src/data-plane/kernel/kernel.ts'

/** Strings that one timed run takes. */
export const BATCH = 256
const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const
const NUMBERS: { readonly [method: string]: number } = { GET: 0, POST: 2, PUT: 3, DELETE: 4 }

/** A REST service: collections with items, and collections below items. Every route takes from bucket 0. */
export function restRoutes(count: number): RouteDefinition[] {
  return Array.from({ length: count }, (_, i) => {
    const service = `/api/v1/service-${i >> 4}/resource${(i >> 2) & 3}`
    const tail = ['', '/{id}', '/{id}/items', '/{id}/items/{item}'][i & 3]!
    return { method: METHODS[(i >> 1) & 3]!, pattern: service + tail }
  })
}

export interface Request {
  readonly path: string
  readonly method: number
  readonly methodName: string
  /** Row it must match. */
  readonly route: number
}

/** `count` requests spread over the table, each with its own parameter values. */
export function requestsFor(routes: readonly RouteDefinition[], count = 4096): Request[] {
  return Array.from({ length: count }, (_, i) => {
    const route = (i * 7919) % routes.length
    const { method, pattern } = routes[route]!
    const path = pattern.replace(/\{\w+\}/g, () => String(100_000 + ((i * 7_368_787) % 900_000)))
    return { path, method: NUMBERS[method]!, methodName: method, route }
  })
}

/** The same paths as strings no one has seen: flat, one byte per character, never hashed. */
export class FreshPaths {
  readonly batch: string[] = []
  /** Index of the batch's first path among all. */
  at = 0
  readonly #bytes: Buffer
  readonly #ends: readonly number[]

  constructor(paths: readonly string[]) {
    this.#bytes = Buffer.from(paths.join(''), 'latin1')
    let end = 0
    this.#ends = [0, ...paths.map(path => (end += path.length))]
  }

  next(): void {
    this.at = this.batch.length === 0 ? 0 : (this.at + BATCH) % (this.#ends.length - 1)
    for (let i = 0; i < BATCH; i++)
      this.batch[i] = this.#bytes.toString('latin1', this.#ends[this.at + i], this.#ends[this.at + i + 1])
  }
}
