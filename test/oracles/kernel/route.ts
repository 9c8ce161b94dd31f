/** Route match in plain JavaScript, by the rules of assembly/route.ts: a recursive walk over the tree. */
import { METHOD_ANY, METHOD_NOT_ALLOWED, NOT_FOUND } from '../../../src/data-plane/kernel/abi.ts'
import type { Leaf, RouteNode } from '../../../src/data-plane/kernel/route-tree.ts'

/** One search: `find` runs it, the fields hold what it found out. */
export class Search {
  readonly params: string[] = []
  allowed = 0
  readonly #segments: readonly string[]
  readonly #bit: number
  readonly #method: number

  /** @param path canonical. */
  constructor(path: string, method: number) {
    this.#segments = path.slice(1).split('/')
    this.#method = method
    this.#bit = 1 << METHOD_ANY
  }

  find(root: RouteNode): number {
    const row = this.#walk(root, 0)
    if (row !== undefined) return row
    return this.allowed === 0 ? NOT_FOUND : METHOD_NOT_ALLOWED
  }

  #walk(node: RouteNode, at: number): number | undefined {
    if (at === this.#segments.length) return this.#choose(node.leaf)
    const segment = this.#segments[at]!
    const literal = node.literals.get(segment)
    let row = literal === undefined ? undefined : this.#walk(literal, at + 1)
    if (row !== undefined) return row
    if (node.param !== undefined && segment !== '') {
      this.params.push(segment)
      row = this.#walk(node.param, at + 1)
      if (row !== undefined) return row
      this.params.pop()
    }
    row = this.#choose(node.catchAll)
    if (row !== undefined) this.params.push(this.#segments.slice(at).join('/'))
    return row
  }

  #choose(leaf: Leaf | undefined): number | undefined {
    if (leaf === undefined) return undefined
    const row = leaf.get(this.#method) ?? leaf.get(METHOD_ANY)
    if (row === undefined) for (const method of leaf.keys()) this.allowed |= (1 << method) & ~this.#bit
    return row
  }
}
