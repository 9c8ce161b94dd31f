/** The host's side of the kernel in WebAssembly: loads route tables, sets buckets, makes calls and reads results. `exports.ts` loads the module. */
import {
  ARENA_INPUT,
  ARENA_SIZE,
  MAX_PATH_BYTES,
  PATH_TOO_LONG,
  RESULT_ALLOWED,
  RESULT_PARAM_COUNT,
  RESULT_PARAMS,
  RESULT_PATH,
  RESULT_PATH_LENGTH,
  RESULT_REFUSED_AT,
} from './abi.ts'
import { Buckets } from './buckets.ts'
import { arenaOf, instantiate, type KernelExports } from './exports.ts'
import type { BucketRate, Kernel, RouteDefinition, RouteTable } from './kernel.ts'
import type { SharedMemory } from './layout.ts'
import { PathWindow } from './path-window.ts'
import { RouteTableWriter } from './route-table.ts'
import { buildRouteTree } from './route-tree.ts'

export class WasmKernel implements Kernel {
  /** All calls of this instance, for `quota/memory`, which owns the quota region of the same memory. */
  readonly exports: KernelExports
  table: RouteTable = { routes: [] }
  readonly #arena: Buffer
  readonly #result: Int32Array
  readonly #window: PathWindow
  readonly #buckets: Buckets
  /** Base of the two table regions; the one not in use is loaded into. */
  readonly #tables: readonly [number, number]
  readonly #shared: SharedMemory
  #inUse: 0 | 1 = 1

  constructor(shared: SharedMemory, thread: number) {
    const { memory, layout } = shared
    this.#shared = shared
    const arena = arenaOf(layout, thread)
    const first = arena + ARENA_SIZE
    this.exports = instantiate(memory, layout, thread)
    this.#arena = Buffer.from(memory.buffer, arena, ARENA_SIZE)
    this.#result = new Int32Array(memory.buffer, arena, ARENA_INPUT / 4)
    this.#window = new PathWindow(memory.buffer, arena + ARENA_INPUT)
    this.#buckets = new Buckets(memory, layout)
    this.#tables = [first, first + layout.routeTableBytes + 64]
  }

  loadRoutes(routes: readonly RouteDefinition[]): RouteTable {
    const free = this.#inUse === 0 ? 1 : 0
    const base = this.#tables[free]
    const { memory, layout } = this.#shared
    const results = Buffer.from(this.#arena)
    try {
      const tree = buildRouteTree(routes, path => this.#canonical(path))
      const writer = new RouteTableWriter(memory, base, layout.routeTableBytes, segment =>
        this.#hash(segment),
      )
      this.exports.useTable(writer.write(tree))
    } finally {
      // the patterns were normalized and hashed in the windows that hold the last results
      this.#arena.set(results)
    }
    this.#inUse = free
    this.table = Object.freeze({ routes: Object.freeze([...routes]) })
    return this.table
  }

  admit(path: string, method: number): number {
    if (path.length > MAX_PATH_BYTES) return this.#tooLong()
    this.#window.write(path)
    return this.exports.admit(path.length, method)
  }

  normalize(path: string): number {
    if (path.length > MAX_PATH_BYTES) return this.#tooLong()
    this.#window.write(path)
    return this.exports.normalize(path.length)
  }

  match(method: number): number {
    return this.exports.match(method)
  }

  normalizedPath(given?: string): string {
    const at = this.#result[RESULT_PATH / 4]!
    const length = this.#result[RESULT_PATH_LENGTH / 4]!
    return given !== undefined && at === ARENA_INPUT && length > 0
      ? given
      : this.#arena.toString('latin1', at, at + length)
  }

  get paramCount(): number {
    return this.#result[RESULT_PARAM_COUNT / 4]!
  }

  param(index: number, given?: string): string {
    if (!(index >= 0 && index < this.paramCount)) return ''
    const from = this.#result[RESULT_PARAMS / 4 + index * 2]!
    const to = this.#result[RESULT_PARAMS / 4 + index * 2 + 1]!
    const at = this.#result[RESULT_PATH / 4]!
    return given !== undefined && at === ARENA_INPUT
      ? given.slice(from, to)
      : this.#arena.toString('latin1', at + from, at + to)
  }

  get allowedMethods(): number {
    return this.#result[RESULT_ALLOWED / 4]!
  }

  get refusedAt(): number {
    return this.#result[RESULT_REFUSED_AT / 4]!
  }

  setBucketRate(slot: number, rate: BucketRate): void {
    this.#buckets.setRate(slot, rate)
  }

  fillBucket(slot: number): void {
    this.#buckets.fill(slot)
  }

  takeTokens(slot: number, tokens: number, nowMs: number): number {
    return this.exports.takeTokens(slot, tokens, nowMs)
  }

  tokensLeft(slot: number, nowMs: number): number {
    return this.exports.tokensLeft(slot, nowMs)
  }

  /** @returns undefined when the path is refused. */
  #canonical(path: string): string | undefined {
    return this.normalize(path) === 0 ? this.normalizedPath(path) : undefined
  }

  /** Such a path does not fit into the window, so the kernel cannot refuse it. */
  #tooLong(): number {
    this.exports.normalize(0)
    this.#result[RESULT_REFUSED_AT / 4] = MAX_PATH_BYTES
    return PATH_TOO_LONG
  }

  #hash(segment: string): number {
    this.#arena.write(segment, ARENA_INPUT, 'latin1')
    return this.exports.segmentHash(this.#arena.byteOffset + ARENA_INPUT, segment.length) >>> 0
  }
}
