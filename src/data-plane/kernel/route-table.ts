/** Writes a route tree as the nodes that assembly/route.ts walks (drawn in assembly/abi.ts). */
import {
  NODE_CATCH_ALL,
  NODE_CHILD_MASK,
  NODE_CHILDREN,
  NODE_FIRST,
  NODE_LAST,
  NODE_LENGTH,
  NODE_METHODS,
  NODE_PARAM,
  NODE_ROUTE,
  NODE_ROUTES,
  NODE_RUN,
  NODE_RUN_LENGTH,
  NODE_SEGMENT,
  NODE_SIZE,
  ROUTE_SIZE,
} from './abi.ts'
import type { Leaf, RouteNode } from './route-tree.ts'

const NONE = -1
const WORD_BYTES = 8

/** The kernel's own hash of a segment, so that there is only one. */
type SegmentHash = (segment: string) => number

export class RouteTableWriter {
  readonly #view: DataView
  readonly #base: number
  readonly #bytes: number
  readonly #hash: SegmentHash
  #end: number

  /** @param base address of the table, at a multiple of 64; `bytes` is its maximum size. */
  constructor(memory: WebAssembly.Memory, base: number, bytes: number, hash: SegmentHash) {
    this.#view = new DataView(memory.buffer)
    this.#base = base
    this.#bytes = bytes
    this.#hash = hash
    this.#end = base
  }

  /** @returns address of the root node. @throws RangeError when it does not fit. */
  write(root: RouteNode): number {
    const at = this.#reserve(1)
    this.#node(at, root)
    return at
  }

  /** Everything of a node but its segment. Children come after their parent, so that one way lies close together. */
  #node(at: number, node: RouteNode): void {
    this.#leaf(at, node.leaf)
    const { run, last } = runOf(node)
    this.#set(at + NODE_RUN_LENGTH, run.length)
    if (run !== '') this.#set(at + NODE_RUN, this.#bytesOf(run))
    const { literals, param, catchAll } = last
    this.#set(at + NODE_CATCH_ALL, 0)
    if (catchAll !== undefined) {
      const child = this.#reserve(1)
      this.#set(at + NODE_CATCH_ALL, child)
      this.#leaf(child, catchAll)
    }
    this.#set(at + NODE_PARAM, 0)
    if (param !== undefined) {
      const child = this.#reserve(1)
      this.#set(at + NODE_PARAM, child)
      this.#node(child, param)
    }
    this.#set(at + NODE_CHILD_MASK, NONE)
    if (literals.size > 0) this.#children(at, literals)
  }

  #children(at: number, literals: RouteNode['literals']): void {
    // At least a third of the slots stays empty, which keeps misses short; an only child needs no second slot.
    const slots = literals.size === 1 ? 1 : 2 ** Math.ceil(Math.log2(literals.size * 1.5))
    const children = this.#reserve(slots)
    for (let slot = 0; slot < slots; slot++) this.#set(children + slot * NODE_SIZE + NODE_LENGTH, NONE)
    this.#set(at + NODE_CHILDREN, children)
    this.#set(at + NODE_CHILD_MASK, slots - 1)
    for (const [segment, node] of literals) {
      let slot = this.#hash(segment) & (slots - 1)
      while (this.#view.getInt32(children + slot * NODE_SIZE + NODE_LENGTH, true) !== NONE)
        slot = (slot + 1) & (slots - 1)
      const child = children + slot * NODE_SIZE
      this.#segment(child, segment)
      this.#node(child, node)
    }
  }

  #segment(at: number, segment: string): void {
    const { length } = segment
    this.#text(at + NODE_FIRST, segment.slice(0, WORD_BYTES).padEnd(WORD_BYTES, '\0'))
    this.#text(at + NODE_LAST, segment.slice(-WORD_BYTES).padEnd(WORD_BYTES, '\0'))
    this.#set(at + NODE_LENGTH, length)
    if (length > 2 * WORD_BYTES)
      this.#set(at + NODE_SEGMENT, this.#bytesOf(segment.slice(WORD_BYTES, -WORD_BYTES)))
  }

  #bytesOf(text: string): number {
    const at = this.#reserve(Math.ceil(text.length / NODE_SIZE))
    this.#text(at, text)
    return at
  }

  #leaf(at: number, leaf: Leaf | undefined): void {
    const rows = [...(leaf ?? [])].sort(([a], [b]) => a - b)
    this.#set(
      at + NODE_METHODS,
      rows.reduce((bits, [method]) => bits | (1 << method), 0),
    )
    const numbers =
      rows.length > 1 ? this.#reserve(Math.ceil((rows.length * ROUTE_SIZE) / NODE_SIZE)) : at + NODE_ROUTE
    this.#set(at + NODE_ROUTES, numbers)
    for (const [index, [, row]] of rows.entries()) this.#set(numbers + index * ROUTE_SIZE, row)
  }

  #text(at: number, text: string): void {
    for (let i = 0; i < text.length; i++) this.#view.setUint8(at + i, text.charCodeAt(i))
  }

  #set(at: number, value: number): void {
    this.#view.setInt32(at, value, true)
  }

  /** Whole cache lines. */
  #reserve(lines: number): number {
    const at = this.#end
    this.#end += lines * NODE_SIZE
    if (this.#end > this.#base + this.#bytes)
      throw new RangeError(
        `the route table does not fit in ${this.#bytes} bytes, a limit in the code and not a setting; raise routeTableBytes in the code that creates the kernel`,
      )
    return at
  }
}

/** What must follow a node's segment in any case (abi.ts), and the node at which there is a choice again. */
function runOf(node: RouteNode): { run: string; last: RouteNode } {
  let run = ''
  let last = node
  while (last.literals.size === 1 && last.param === undefined && last.catchAll === undefined) {
    const [segment, child] = [...last.literals][0]!
    if (child.leaf !== undefined) break
    run += `${segment}/`
    last = child
  }
  return { run, last }
}
