/** A file of a document: its value, and the places of schemas with an `$id` or an anchor in it; also resolves URIs. */
import { isObject } from '../../base/json/is-object.ts'
import { own } from '../compile/dict.ts'
import { escapeToken } from '../compile/json-pointer.ts'
import { childrenOf } from './document-nodes.ts'

interface SchemaResource {
  /** JSON Pointer of the schema in the file. */
  readonly pointer: string
  /** Absolute; the base of the references in it (JSON Schema 2020-12 §8.2.1). */
  readonly base: string
}

export class SourceFile {
  readonly uri: string
  /** The address relative to the folder of the document; '' for the document itself. */
  readonly label: string
  readonly value: unknown
  /** Outer ones first. */
  readonly resources: readonly SchemaResource[]
  #anchors: Map<string, string> | undefined

  /** @param hasIds false before OpenAPI 3.1, where `$id` is not a keyword */
  constructor(uri: string, label: string, value: unknown, hasIds: boolean) {
    this.uri = uri
    this.label = label
    this.value = value
    const resources: SchemaResource[] = []
    if (hasIds)
      visit(value, false, '', uri, (node, pointer, base) => {
        const id = own(node, '$id')
        const resolved = typeof id === 'string' ? resolveUri(id, base) : undefined
        if (resolved === undefined) return base
        resources.push({ pointer, base: resolved })
        return resolved
      })
    this.resources = resources
  }

  /** The resource that holds the place: the base of its references, and where its pointers begin. */
  resourceAt(pointer: string): SchemaResource {
    let found: SchemaResource = { pointer: '', base: this.uri }
    for (const resource of this.resources)
      if (pointer === resource.pointer || pointer.startsWith(`${resource.pointer}/`)) found = resource
    return found
  }

  /** Pointer of the schema with this `$anchor` or `$dynamicAnchor`. */
  anchor(name: string): string | undefined {
    if (this.#anchors === undefined) {
      const anchors = new Map<string, string>()
      this.#anchors = anchors
      visit(this.value, false, '', '', (node, pointer) => {
        for (const keyword of ['$anchor', '$dynamicAnchor']) {
          const anchor = own(node, keyword)
          if (typeof anchor === 'string' && !anchors.has(anchor)) anchors.set(anchor, pointer)
        }
        return ''
      })
    }
    return this.#anchors.get(name)
  }
}

/** Absolute and without fragment; undefined when it is not an address. */
export function resolveUri(reference: string, base: string): string | undefined {
  try {
    const url = new URL(reference, base)
    url.hash = ''
    return url.href
  } catch {
    return undefined
  }
}

/** Calls `enter` for every object that is not a map of names; its result is the base of the objects below. */
function visit(
  node: unknown,
  named: boolean,
  pointer: string,
  base: string,
  enter: (node: { readonly [key: string]: unknown }, pointer: string, base: string) => string,
): void {
  if (node === null || typeof node !== 'object') return
  const inner = isObject(node) && !named ? enter(node, pointer, base) : base
  for (const child of childrenOf(node, named))
    visit(child.value, child.named, `${pointer}/${escapeToken(child.key)}`, inner, enter)
}
