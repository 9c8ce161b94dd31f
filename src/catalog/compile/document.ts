/** Read access to an OpenAPI document: version, title, references, operations and parameters; also the error of an unusable one. */

import { isObject } from '../../base/json/is-object.ts'
import { shownReference } from '../../base/shown-address.ts'
import { type Dict, list, own, text } from './dict.ts'
import { unescapeToken } from './json-pointer.ts'

export type Dialect = '2.0' | '3.0' | '3.1'

/** The document as a whole cannot be used; the message contains the reason and the fix. */
export class DocumentError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DocumentError'
  }
}

/** One operation in the document, not validated. */
export interface RawOperation {
  /** Upper case. */
  readonly method: string
  readonly path: string
  readonly pathItem: Dict
  readonly operation: unknown
}

/** An entry of `paths` that is not a path item; its operations are unknown. */
export interface UnreadablePath {
  readonly path: string
  readonly reason: string
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const
/** Fixed fields of a Path Item Object of OpenAPI 3.2. */
const METHODS_3_2 = [...METHODS, 'query'] as const
/** A method token of RFC 9110 that can be sent. */
const METHOD = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$/
/** A longer chain of references counts as a loop. */
const MAX_REFERENCE_CHAIN = 32

export class OpenDocument {
  readonly root: Dict
  readonly dialect: Dialect
  readonly title: string
  #anchors: Map<string, unknown> | undefined

  /** @throws DocumentError when the value is not an OpenAPI 2.0, 3.0, 3.1 or 3.2 document. */
  constructor(value: unknown) {
    if (!isObject(value)) {
      throw new DocumentError(`the document is ${kindOf(value)}, not an object: provide an OpenAPI document`)
    }
    this.root = value
    this.dialect = dialectOf(value)
    const info = own(value, 'info')
    this.title = (isObject(info) && text(info.title)) || 'the API'
    const paths = this.follow(own(value, 'paths'))
    if (paths !== undefined && paths !== null && !isObject(paths)) {
      throw new DocumentError(`paths is ${kindOf(paths)}, not an object: correct the document`)
    }
  }

  /** Every operation under `paths` (paths in the order of the document, methods in a fixed one), and what under `paths` cannot be read. */
  *operations(): Generator<RawOperation | UnreadablePath> {
    const paths = this.follow(own(this.root, 'paths'))
    if (!isObject(paths)) {
      if (own(this.root, 'paths') !== undefined)
        yield { path: 'paths', reason: 'paths is empty, or its $ref cannot be resolved' }
      return
    }
    for (const path of Object.keys(paths)) {
      if (path.startsWith('x-')) continue
      if (!path.startsWith('/')) {
        yield { path, reason: 'the path does not begin with "/"' }
        continue
      }
      const pathItem = this.#pathItem(paths[path])
      if (pathItem !== undefined) yield* this.#operationsOf(path, pathItem)
      else if (paths[path] !== null) yield { path, reason: unreadable(paths[path]) }
    }
  }

  *#operationsOf(path: string, pathItem: Dict): Generator<RawOperation> {
    const is32 = versionText(own(this.root, 'openapi'))?.startsWith('3.2') === true
    for (const field of is32 ? METHODS_3_2 : METHODS) {
      const operation = own(pathItem, field)
      if (operation !== undefined)
        yield { method: field.toUpperCase(), path, pathItem, operation: this.follow(operation) }
    }
    const additional = is32 ? this.follow(own(pathItem, 'additionalOperations')) : undefined
    if (!isObject(additional)) return
    for (const method of Object.keys(additional))
      if (METHOD.test(method)) yield { method, path, pathItem, operation: this.follow(additional[method]) }
  }

  /** Fields beside a `$ref` complete its target (OpenAPI 3.0 and 3.1 leave only conflicts open). */
  #pathItem(value: unknown): Dict | undefined {
    const target = this.follow(value)
    if (!isObject(target)) return undefined
    if (!isObject(value) || target === value) return target
    const { $ref: _, ...beside } = value
    return { ...target, ...beside }
  }

  /**
   * Resolves a chain of `$ref`s; returns the value itself when it is not a reference.
   * undefined when the chain is broken, leaves the document, or loops.
   */
  follow(value: unknown): unknown {
    for (let hops = 0; hops < MAX_REFERENCE_CHAIN; hops++) {
      if (!isObject(value)) return value
      const reference = own(value, '$ref')
      if (typeof reference !== 'string') return value
      value = this.resolve(reference)
    }
    return undefined
  }

  /** The target of a reference within this document; undefined when there is none. */
  resolve(reference: string): unknown {
    if (reference === '#' || reference === '#/') return this.root
    if (!reference.startsWith('#/')) {
      return reference.startsWith('#') ? this.#findAnchor(reference.slice(1)) : undefined
    }
    let node: unknown = this.root
    for (const token of reference.slice(2).split('/')) {
      const key = unescapeToken(token)
      if (Array.isArray(node)) node = node[Number(key)]
      else if (isObject(node)) node = own(node, key) ?? own(node, token)
      else return undefined
    }
    return node
  }

  /** `$anchor`s of the schemas under components (JSON Schema 2020-12 §8.2.2); nested ones are not supported. */
  #findAnchor(name: string): unknown {
    if (this.#anchors === undefined) {
      this.#anchors = new Map()
      const components = own(this.root, 'components')
      const schemas = isObject(components) ? own(components, 'schemas') : undefined
      for (const schema of isObject(schemas) ? Object.values(schemas) : []) {
        if (!isObject(schema)) continue
        for (const keyword of ['$anchor', '$dynamicAnchor']) {
          const anchor = text(own(schema, keyword))
          if (anchor !== undefined) this.#anchors.set(anchor, schema)
        }
      }
    }
    return this.#anchors.get(name)
  }

  /** The parameters of a path item and of its operation; those of the operation take precedence by name and place (OpenAPI 3.1 §4.8.10). */
  parametersOf(raw: RawOperation): { readonly merged: readonly Dict[]; readonly broken: readonly string[] } {
    const merged = new Map<string, Dict>()
    const broken: string[] = []
    const own_ = isObject(raw.operation) ? list(raw.operation.parameters) : []
    for (const entry of [...list(raw.pathItem.parameters), ...own_]) {
      const parameter = this.follow(entry)
      if (isObject(parameter) && typeof parameter.name === 'string' && typeof parameter.in === 'string') {
        merged.set(`${parameter.in} ${parameter.name}`, parameter)
      } else
        broken.push(
          isObject(entry) && typeof entry.$ref === 'string' ? entry.$ref : '"name" or "in" is missing',
        )
    }
    return { merged: [...merged.values()], broken }
  }
}

function unreadable(pathItem: unknown): string {
  const reference = isObject(pathItem) ? own(pathItem, '$ref') : undefined
  return typeof reference === 'string'
    ? `the path item refers to ${shownReference(reference).slice(0, 200)}, which cannot be read`
    : `the path item is ${kindOf(pathItem)}, not an object`
}

function dialectOf(root: Dict): Dialect {
  const swagger = versionText(own(root, 'swagger'))
  const version = versionText(own(root, 'openapi'))
  if (swagger?.startsWith('2') === true) return '2.0'
  if (version !== undefined) {
    if (/^3\.[12]/.test(version)) return '3.1'
    if (/^3(\.0|$)/.test(version)) return '3.0'
    throw new DocumentError(
      `openapi is "${version.slice(0, 20)}": versions 2.0, 3.0, 3.1 and 3.2 are supported`,
    )
  }
  if (swagger !== undefined) {
    throw new DocumentError(`swagger is "${swagger.slice(0, 20)}": version 2.0 is supported`)
  }
  throw new DocumentError(
    'the document has neither the field "openapi" nor the field "swagger": provide an OpenAPI document',
  )
}

/** YAML reads `3.0` without quotes as a number. */
function versionText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
