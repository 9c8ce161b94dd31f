/** The kernel in plain JavaScript: the oracle of the property tests, on the same memory layout. Production code never runs it. */
import { BUCKET_SIZE, METHOD_NOT_ALLOWED, NOT_FOUND } from '../../../src/data-plane/kernel/abi.ts'
import { Buckets } from '../../../src/data-plane/kernel/buckets.ts'
import type { KernelOptions } from '../../../src/data-plane/kernel/create.ts'
import type {
  BucketRate,
  Kernel,
  RouteDefinition,
  RouteTable,
} from '../../../src/data-plane/kernel/kernel.ts'
import { type SharedMemory, shareMemory } from '../../../src/data-plane/kernel/layout.ts'
import { buildRouteTree, type RouteNode } from '../../../src/data-plane/kernel/route-tree.ts'
import { takeTokens, tokensLeft } from './bucket.ts'
import { normalizePath } from './path.ts'
import { Search } from './route.ts'

/** The twin's counterpart of `createKernel`. */
export function createTwin(options: KernelOptions = {}) {
  const shared = options.shared ?? shareMemory(options)
  return { kernel: new TwinKernel(shared), shared }
}

function canonicalPath(path: string): string | undefined {
  const result = normalizePath(path)
  return typeof result === 'string' ? result : undefined
}

export class TwinKernel implements Kernel {
  table: RouteTable = { routes: [] }
  allowedMethods = 0
  refusedAt = 0
  readonly #buckets: Buckets
  readonly #tokens: BigInt64Array
  #tree: RouteNode = buildRouteTree([], canonicalPath)
  #path = ''
  #params: readonly string[] = []

  constructor(shared: SharedMemory) {
    const { memory, layout } = shared
    this.#buckets = new Buckets(memory, layout)
    this.#tokens = new BigInt64Array(memory.buffer, layout.bucketBase, (layout.bucketCount * BUCKET_SIZE) / 8)
  }

  loadRoutes(routes: readonly RouteDefinition[]): RouteTable {
    this.#tree = buildRouteTree(routes, canonicalPath)
    this.table = Object.freeze({ routes: Object.freeze([...routes]) })
    return this.table
  }

  admit(path: string, method: number): number {
    const status = this.normalize(path)
    return status === 0 ? this.match(method) : status
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
    return takeTokens(this.#tokens, slot, tokens, nowMs)
  }

  tokensLeft(slot: number, nowMs: number): number {
    return tokensLeft(this.#tokens, slot, nowMs)
  }
}
