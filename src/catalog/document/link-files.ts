/** Joins an OpenAPI document and the files it refers to into one document, and reports what it cannot resolve. */
import { isObject } from '../../base/json/is-object.ts'
import { shownAddress, shownReference } from '../../base/shown-address.ts'
import type { UnresolvedReference } from '../compile/compile-tool-set.ts'
import { type Dict, own, put } from '../compile/dict.ts'
import { DocumentError } from '../compile/document.ts'
import { escapeToken, unescapeToken } from '../compile/json-pointer.ts'
import { childrenOf } from './document-nodes.ts'
import { MAX_VALUES } from './parse-document.ts'
import { resolveUri, SourceFile } from './source-file.ts'

/** A file that a reference names: parsed, or why it cannot be used. */
export type LinkedFile =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'fault'; readonly reason: string; readonly fix: string }

export interface LinkedDocument {
  readonly document: unknown
  /** Addresses of files that were not given: the document is not complete. */
  readonly missing: readonly string[]
  readonly unresolved: readonly UnresolvedReference[]
  /** Further unresolved references, which are only counted. */
  readonly moreUnresolved: number
}

/** Parts of files that are not an entry of the document itself are kept under this key. */
const PARTS = 'x-files'
const MAX_HOPS = 32
const MAX_UNRESOLVED = 500

/** The file at an address. */
type GetFile = (uri: string) => LinkedFile | 'missing'

/** @param uri address of the document, the base of relative references */
export function linkFiles(document: unknown, uri: string, getFile: GetFile): LinkedDocument {
  return new Linker(document, uri, getFile).link()
}

interface Location {
  readonly file: SourceFile
  readonly pointer: string
}

/** A part of a file under `PARTS`: the value of `name` in `group`. */
interface Part {
  readonly at: string
  readonly group: string
  readonly name: string
  readonly location: Location
}

type Target =
  | (Location & { readonly kind: 'found'; readonly node: unknown })
  | { readonly kind: 'missing' }
  | { readonly kind: 'fault'; readonly reason: string; readonly fix: string }

class Linker {
  readonly #root: SourceFile
  /** Address of the folder of the document. */
  readonly #folder: string
  readonly #getFile: GetFile
  readonly #hasIds: boolean
  readonly #files = new Map<string, SourceFile>()
  /** `$id` → schema. */
  readonly #ids = new Map<string, Location>()
  /** `{uri}#{pointer}` → pointer in the joined document. */
  readonly #mounts = new Map<string, string>()
  readonly #parts: Part[] = []
  readonly #targets = new Map<string, Target>()
  readonly #missing = new Set<string>()
  readonly #unresolved: UnresolvedReference[] = []
  #moreUnresolved = 0
  #copied = 0

  constructor(document: unknown, uri: string, getFile: GetFile) {
    this.#getFile = getFile
    this.#hasIds = isObject(document) && /^3\.[12]/.test(String(own(document, 'openapi')))
    this.#folder = resolveUri('.', uri) ?? ''
    this.#root = this.#open(uri, '', document)
    this.#mounts.set(`${uri}#`, '')
  }

  link(): LinkedDocument {
    const { value } = this.#root
    this.#mount(value, { file: this.#root, pointer: '' }, '', 0)
    let document = this.#rewrite(value, false, { file: this.#root, pointer: '' }, '', 0)
    const parts: Record<string, unknown> = {}
    for (let i = 0; i < this.#parts.length; i++) {
      const { at, group, name, location } = this.#parts[i]!
      const target = this.#lookup(location, 0)
      if (target.kind !== 'found') continue
      put(parts, group, { [name]: this.#rewrite(target.node, false, location, at, 0) })
    }
    if (this.#parts.length > 0) document = { ...(document as Dict), [PARTS]: parts }
    return {
      document,
      missing: [...this.#missing],
      unresolved: this.#unresolved,
      moreUnresolved: this.#moreUnresolved,
    }
  }

  #open(uri: string, label: string, value: unknown): SourceFile {
    const file = new SourceFile(uri, label, value, this.#hasIds)
    this.#files.set(uri, file)
    for (const { base, pointer } of file.resources)
      if (!this.#ids.has(base)) this.#ids.set(base, { file, pointer })
    return file
  }

  /**
   * Entries of the document that are nothing but a reference to a file are replaced by its content, so that
   * `#/components/schemas/Pet` and `schemas/Pet.yaml` are one schema with one name.
   */
  #mount(node: unknown, at: Location, pointer: string, depth: number): void {
    let [value, location] = [node, at]
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const reference = soleReference(value)
      const target = reference === undefined ? undefined : this.#locate(reference, location)
      if (target?.kind !== 'found' || this.#place(target) !== undefined) break
      this.#mounts.set(keyOf(target), pointer)
      value = target.node
      location = target
    }
    const limit = pointer.startsWith('/components') ? 3 : 2
    if (depth >= limit || !isObject(value)) return
    for (const [key, child] of Object.entries(value)) {
      if (depth === 0 && key.startsWith('x-')) continue
      const below = { file: location.file, pointer: `${location.pointer}/${escapeToken(key)}` }
      this.#mount(child, below, `${pointer}/${escapeToken(key)}`, depth + 1)
    }
  }

  /** A copy of the node with references into the joined document; the node itself when nothing changes. */
  #rewrite(node: unknown, named: boolean, from: Location, at: string, hops: number): unknown {
    if (node === null || typeof node !== 'object') return node
    if (++this.#copied > MAX_VALUES)
      throw new DocumentError(
        `the document and the files that it refers to contain more than ${MAX_VALUES} values in total: split the document`,
      )
    const changes = new Map<string, unknown>()
    if (isObject(node)) {
      const reference = own(node, '$ref')
      if (typeof reference === 'string') {
        const target = this.#locate(reference, from)
        // This place stands for the file (see #mount).
        const isMount = target.kind === 'found' && hops < MAX_HOPS && this.#mounts.get(keyOf(target)) === at
        if (isMount && soleReference(node) !== undefined)
          return this.#rewrite(target.node, named, target, at, hops + 1)
        const rewritten = this.#point(reference, target, from)
        if (rewritten !== reference) changes.set('$ref', rewritten)
      }
      const dynamic = named ? undefined : own(node, '$dynamicRef')
      if (typeof dynamic === 'string') {
        const rewritten = this.#point(dynamic, this.#locate(dynamic, from), from)
        if (rewritten !== dynamic) changes.set('$dynamicRef', rewritten)
      }
      const mapping = named ? undefined : this.#linkMapping(own(node, 'mapping'), from)
      if (mapping !== undefined) changes.set('mapping', mapping)
    }
    for (const { key, value, named: below } of childrenOf(node, named)) {
      const token = escapeToken(key)
      const place = { file: from.file, pointer: `${from.pointer}/${token}` }
      const rewritten = this.#rewrite(value, below, place, `${at}/${token}`, 0)
      if (rewritten !== value) changes.set(key, rewritten)
    }
    if (changes.size === 0) return node
    const copy = (Array.isArray(node) ? [...node] : { ...node }) as Record<string, unknown>
    for (const [key, value] of changes) put(copy, key, value)
    return copy
  }

  /** Values of a discriminator mapping that are addresses; bare names are names of components. */
  #linkMapping(mapping: unknown, from: Location): Dict | undefined {
    if (!isObject(mapping)) return undefined
    const out: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(mapping)) {
      const isAddress = typeof value === 'string' && /[#/]|\.(ya?ml|json)$/.test(value)
      put(out, key, isAddress ? this.#point(value, this.#locate(value, from), from) : value)
    }
    return Object.keys(out).some(key => out[key] !== mapping[key]) ? out : undefined
  }

  /** The reference as it is in the joined document. */
  #point(reference: string, target: Target, from: Location): string {
    if (target.kind === 'missing') return reference
    if (target.kind === 'fault') {
      this.#report(reference, target, from)
      return reference
    }
    const pointer = this.#place(target) ?? this.#part(target)
    if (from.file === this.#root && reference.startsWith('#/') && pointerOf(reference.slice(1)) === pointer)
      return reference
    return `#${pointer.replaceAll('%', '%25')}`
  }

  #report(reference: string, { reason, fix }: { reason: string; fix: string }, from: Location): void {
    if (this.#unresolved.length >= MAX_UNRESOLVED) {
      this.#moreUnresolved++
      return
    }
    const pointer = `${shownAddress(from.file.label)}#${from.pointer}`
    this.#unresolved.push({ pointer, reference: shownReference(reference).slice(0, 300), reason, fix })
  }

  /** Where a location is in the joined document; undefined when no part holds it. */
  #place({ file, pointer }: Location): string | undefined {
    for (let end = pointer.length; end >= 0; end = pointer.lastIndexOf('/', end - 1)) {
      const mount = this.#mounts.get(`${file.uri}#${pointer.slice(0, end)}`)
      if (mount !== undefined) return `${mount}${pointer.slice(end)}`
      if (end === 0) break
    }
    return undefined
  }

  /** A new part. Its last token is the name by which authors know it. */
  #part({ file, pointer }: Location): string {
    const path = pointer === '' ? file.label.replace(/\.(ya?ml|json)$/i, '') : pointer
    const name = unescapeToken(path.slice(path.lastIndexOf('/') + 1)) || 'part'
    const group = `${file.label}#${pointer}`
    const at = `/${PARTS}/${escapeToken(group)}/${escapeToken(name)}`
    this.#mounts.set(keyOf({ file, pointer }), at)
    this.#parts.push({ at, group, name, location: { file, pointer } })
    return at
  }

  #locate(reference: string, from: Location): Target {
    const resource = from.file.resourceAt(from.pointer)
    const key = `${from.file.uri}#${resource.pointer} ${reference}`
    let target = this.#targets.get(key)
    if (target === undefined) {
      target = this.#resolve(reference, from.file, resource, 0)
      this.#targets.set(key, target)
    }
    return target
  }

  #resolve(
    reference: string,
    from: SourceFile,
    resource: { readonly pointer: string; readonly base: string },
    hops: number,
  ): Target {
    const cut = reference.indexOf('#')
    const address = cut < 0 ? reference : reference.slice(0, cut)
    const fragment = cut < 0 ? '' : reference.slice(cut + 1)
    const found =
      address === '' ? { file: from, pointer: resource.pointer } : this.#file(address, from, resource.base)
    if ('kind' in found) return found
    if (fragment !== '' && !fragment.startsWith('/')) {
      const pointer = found.file.anchor(unescapeToken(fragment))
      if (pointer === undefined)
        return absent(
          `${shownAddress(found.file.label) || 'the document'} has no $anchor "${fragment.slice(0, 80)}"`,
        )
      return this.#lookup({ file: found.file, pointer }, hops)
    }
    const inner = fragment === '/' ? '' : pointerOf(fragment)
    return this.#lookup({ file: found.file, pointer: `${found.pointer}${inner}` }, hops)
  }

  /** The schema with this `$id`, else the file at this address. */
  #file(address: string, from: SourceFile, base: string): Location | Exclude<Target, { kind: 'found' }> {
    const identified = this.#ids.get(resolveUri(address, base) ?? '')
    if (identified !== undefined) return identified
    const uri = resolveUri(address, from.uri)
    if (uri === undefined) return absent(`${shownAddress(address)} is not a valid URI`)
    const opened = this.#files.get(uri)
    if (opened !== undefined) return { file: opened, pointer: '' }
    const given = this.#getFile(uri)
    if (given === 'missing') {
      this.#missing.add(uri)
      return { kind: 'missing' }
    }
    if (given.kind === 'fault') return given
    const label = unescapeToken(uri.startsWith(this.#folder) ? uri.slice(this.#folder.length) : uri)
    return { file: this.#open(uri, label, given.value), pointer: '' }
  }

  /** The node at a pointer; a reference on the way, such as that of a path item, is followed. */
  #lookup({ file, pointer }: Location, hops: number): Target {
    let node: unknown = file.value
    let path = ''
    for (const token of pointer.split('/').slice(1)) {
      const key = unescapeToken(token)
      let next = Array.isArray(node) ? node[Number(key)] : isObject(node) ? own(node, key) : undefined
      let step = escapeToken(key)
      if (next === undefined && isObject(node) && key !== token && Object.hasOwn(node, token)) {
        next = node[token]
        step = escapeToken(token)
      }
      if (next === undefined && isObject(node) && typeof node.$ref === 'string') {
        if (hops >= MAX_HOPS)
          return absent(`the references form a loop, or a chain of more than ${MAX_HOPS} references`)
        const jumped = this.#resolve(node.$ref, file, file.resourceAt(path), hops + 1)
        if (jumped.kind !== 'found') return jumped
        const rest = pointer.slice(path.length)
        return this.#lookup({ file: jumped.file, pointer: `${jumped.pointer}${rest}` }, hops + 1)
      }
      if (next === undefined)
        return absent(
          `${shownAddress(file.label) || 'the document'} has no value at ${pointer.slice(0, 200)}`,
        )
      node = next
      path += `/${step}`
    }
    return { kind: 'found', file, pointer: path, node }
  }
}

function keyOf({ file, pointer }: Location): string {
  return `${file.uri}#${pointer}`
}

/** The reference of an object that has no other field. */
function soleReference(node: unknown): string | undefined {
  if (!isObject(node)) return undefined
  const reference = own(node, '$ref')
  return typeof reference === 'string' && Object.keys(node).length === 1 ? reference : undefined
}

/** A fragment as JSON Pointer: not percent-encoded, each token escaped in one way. */
function pointerOf(fragment: string): string {
  return fragment.includes('%') ? fragment.split('/').map(decodeToken).join('/') : fragment
}

function decodeToken(token: string): string {
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}

function absent(reason: string): Target & { kind: 'fault' } {
  return { kind: 'fault', reason, fix: 'correct the reference, or add its target' }
}
