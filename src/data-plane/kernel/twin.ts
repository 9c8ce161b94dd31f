/** The kernel in plain JavaScript: the oracle of the property tests, and what runs where WebAssembly cannot. Same memory, same answers. */
import { BUCKET_EMPTY, METHOD_NOT_ALLOWED, NOT_FOUND } from './abi.ts'
import { Buckets } from './buckets.ts'
import type { BucketRate, Kernel, RouteDefinition, RouteTable } from './kernel.ts'
import type { SharedMemory } from './layout.ts'
import { buildRouteTree, type RouteNode } from './route-tree.ts'
import { takeTokens, tokensLeft } from './twin-bucket.ts'
import { TwinEnvelope } from './twin-envelope.ts'
import { normalizePath } from './twin-path.ts'
import { Search } from './twin-route.ts'

export class TwinKernel implements Kernel {
  readonly engine = 'twin'
  readonly envelope = new TwinEnvelope()
  table: RouteTable = { routes: [] }
  allowedMethods = 0
  retryAfterMs = 0
  refusedAt = 0
  readonly #buckets: Buckets
  #tree: RouteNode = buildRouteTree([], 0)
  #path = ''
  #params: readonly string[] = []

  constructor(shared: SharedMemory) {
    this.#buckets = new Buckets(shared.memory, shared.layout)
  }

  loadRoutes(routes: readonly RouteDefinition[]): RouteTable {
    this.#tree = buildRouteTree(routes, this.#buckets.count)
    this.table = Object.freeze({ routes: Object.freeze([...routes]) })
    return this.table
  }

  admit(path: string, method: number, nowMs: number): number {
    const status = this.normalize(path)
    if (status !== 0) return status
    const route = this.match(method)
    const bucket = this.table.routes[route]?.bucket
    if (bucket === undefined) return route
    const left = this.takeTokens(bucket, 1, nowMs)
    if (left === 0) return route
    this.retryAfterMs = -left
    return BUCKET_EMPTY
  }

  normalize(path: string): number {
    const result = normalizePath(path)
    if (typeof result === 'string') {
      this.#path = result
      return 0
    }
    this.#path = ''
    this.#params = []
    this.refusedAt = result.at
    return result.status
  }

  match(method: number): number {
    this.#params = []
    if (this.#path === '') return NOT_FOUND
    const search = new Search(this.#path, method)
    const route = search.find(this.#tree)
    if (route >= 0) this.#params = search.params
    else if (route === METHOD_NOT_ALLOWED) this.allowedMethods = search.allowed
    return route
  }

  normalizedPath(): string {
    return this.#path
  }

  get paramCount(): number {
    return this.#params.length
  }

  param(index: number): string {
    return this.#params[index] ?? ''
  }

  setBucketRate(slot: number, rate: BucketRate): void {
    this.#buckets.setRate(slot, rate)
  }

  fillBucket(slot: number): void {
    this.#buckets.fill(slot)
  }

  takeTokens(slot: number, tokens: number, nowMs: number): number {
    return takeTokens(this.#buckets, slot, tokens, nowMs)
  }

  tokensLeft(slot: number, nowMs: number): number {
    return tokensLeft(this.#buckets, slot, nowMs)
  }
}
