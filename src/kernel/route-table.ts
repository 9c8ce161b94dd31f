/** Writes a route tree as the flat structs that assembly/route.ts walks (drawn in assembly/abi.ts). It matches nothing. */
import {
  EDGE_LENGTH,
  EDGE_NODE,
  EDGE_SEGMENT,
  EDGE_SIZE,
  LEAF_METHODS,
  LEAF_ROUTE_SIZE,
  LEAF_ROUTES,
  NODE_CATCH_ALL,
  NODE_EDGE_MASK,
  NODE_EDGES,
  NODE_LEAF,
  NODE_PARAM,
  NODE_SIZE,
  TABLE_ROOT,
} from './abi.ts'
import type { RouteDefinition } from './kernel.ts'
import type { Leaf, RouteNode } from './route-tree.ts'

const NO_EDGES = 0xffff_ffff
/** An edge keeps this much of its segment beside it; a longer one stands elsewhere as well. */
const EDGE_HEAD_BYTES = 16

/** The kernel's own hash of a segment, so that there is only one. */
export type SegmentHash = (segment: string) => number

export class RouteTableWriter {
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #hash: SegmentHash
  #end = TABLE_ROOT

  /** @param bytes where the table goes. */
  constructor(bytes: Uint8Array, hash: SegmentHash) {
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#hash = hash
  }

  /** @returns bytes used. @throws RangeError when there is no room. */
  write(root: RouteNode, routes: readonly RouteDefinition[]): number {
    this.#node(this.#reserve(NODE_SIZE, 32), root, routes)
    return this.#end
  }

  #node(at: number, node: RouteNode, routes: readonly RouteDefinition[]): void {
    const { literals, param, leaf, catchAll } = node
    const paramAt = param === undefined ? 0 : this.#reserve(NODE_SIZE, 32)
    this.#set(at + NODE_EDGES, 0)
    this.#set(at + NODE_EDGE_MASK, NO_EDGES)
    this.#set(at + NODE_PARAM, paramAt)
    this.#set(at + NODE_LEAF, leaf === undefined ? 0 : this.#leaf(leaf, routes))
    this.#set(at + NODE_CATCH_ALL, catchAll === undefined ? 0 : this.#leaf(catchAll, routes))
    if (literals.size > 0) this.#edges(at, literals, routes)
    if (param !== undefined) this.#node(paramAt, param, routes)
  }

  #edges(node: number, literals: RouteNode['literals'], routes: readonly RouteDefinition[]): void {
    // At least a third of the slots stays empty: a search ends at the first empty one.
    const slots = 2 ** Math.ceil(Math.log2(literals.size * 1.5))
    const edges = this.#reserve(slots * EDGE_SIZE, 32)
    this.#bytes.fill(0, edges, edges + slots * EDGE_SIZE)
    this.#set(node + NODE_EDGES, edges)
    this.#set(node + NODE_EDGE_MASK, slots - 1)
    for (const [segment, child] of literals) {
      let slot = this.#hash(segment) & (slots - 1)
      while (this.#view.getUint32(edges + slot * EDGE_SIZE + EDGE_NODE, true) !== 0)
        slot = (slot + 1) & (slots - 1)
      const edge = edges + slot * EDGE_SIZE
      const childAt = this.#reserve(NODE_SIZE, 32)
      const segmentAt =
        segment.length > EDGE_HEAD_BYTES ? this.#text(segment, this.#reserve(segment.length, 1)) : 0
      this.#text(segment.slice(0, EDGE_HEAD_BYTES), edge)
      this.#set(edge + EDGE_LENGTH, segment.length)
      this.#set(edge + EDGE_SEGMENT, segmentAt)
      this.#set(edge + EDGE_NODE, childAt)
      this.#node(childAt, child, routes)
    }
  }

  #leaf(leaf: Leaf, routes: readonly RouteDefinition[]): number {
    const rows = [...leaf].sort(([a], [b]) => a - b)
    const at = this.#reserve(LEAF_ROUTES + rows.length * LEAF_ROUTE_SIZE, 4)
    this.#set(
      at + LEAF_METHODS,
      rows.reduce((bits, [method]) => bits | (1 << method), 0),
    )
    for (const [index, [, row]] of rows.entries()) {
      this.#set(at + LEAF_ROUTES + index * LEAF_ROUTE_SIZE, row)
      this.#set(at + LEAF_ROUTES + index * LEAF_ROUTE_SIZE + 4, routes[row]!.bucket ?? -1)
    }
    return at
  }

  #text(text: string, at: number): number {
    for (let i = 0; i < text.length; i++) this.#bytes[at + i] = text.charCodeAt(i)
    return at
  }

  #set(at: number, value: number): void {
    this.#view.setUint32(at, value >>> 0, true)
  }

  #reserve(size: number, align: number): number {
    const at = Math.ceil(this.#end / align) * align
    if (at + size > this.#bytes.length)
      throw new RangeError(
        `the route table does not fit in ${this.#bytes.length} bytes; raise the layout option routeTableBytes`,
      )
    this.#end = at + size
    return at
  }
}
