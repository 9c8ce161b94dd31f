/** Finds named schemas that inherit through `allOf`, and builds the `oneOf` of a parent with a discriminator and its heirs. */
import { isObject } from '../../base/json/is-object.ts'
import { type Dict, list, own, put, strings, text } from './dict.ts'
import type { OpenDocument } from './document.ts'
import { escapeToken } from './json-pointer.ts'

interface Member {
  readonly reference: string
  readonly name: string
  readonly schema: Dict
}

/** A larger family would fill a schema with branches; its parent stays as it is. */
const MAX_MEMBERS = 40

export class Families {
  readonly #document: OpenDocument
  #children: Map<object, Member[]> | undefined
  readonly #heirs = new Set<object>()
  readonly #choices = new Map<string, Dict | undefined>()

  constructor(document: OpenDocument) {
    this.#document = document
  }

  /** True for a schema under components that inherits: its `allOf` means the parent alone. */
  isHeir(schema: object): boolean {
    if (this.#children === undefined) this.#readChildren()
    return this.#heirs.has(schema)
  }

  /** A `oneOf` of the schema and those that inherit from it; undefined when the reference leads to no such schema. */
  choiceOf(reference: string): Dict | undefined {
    if (!this.#choices.has(reference)) this.#choices.set(reference, this.#choose(reference))
    return this.#choices.get(reference)
  }

  #choose(reference: string): Dict | undefined {
    const parent = this.#document.follow({ $ref: reference })
    if (!isObject(parent) || own(parent, 'oneOf') !== undefined || own(parent, 'anyOf') !== undefined)
      return undefined
    const discriminator = own(parent, 'discriminator')
    const property = isObject(discriminator) ? own(discriminator, 'propertyName') : discriminator
    if (typeof property !== 'string' || !strings(own(parent, 'required')).includes(property)) return undefined
    const name = reference.slice(reference.lastIndexOf('/') + 1)
    const members = [{ reference, name, schema: parent }, ...this.#descendants(parent)]
    if (members.length < 2 || members.length > MAX_MEMBERS) return undefined
    const given = isObject(discriminator) ? own(discriminator, 'mapping') : undefined
    const mapping: Record<string, unknown> = {}
    for (const member of members)
      for (const value of this.#valuesOf(member, property, isObject(given) ? given : {}))
        put(mapping, value, member.reference)
    // Values that the property does not allow are not the ones by which the author distinguishes.
    const allowed = list(own(propertyOf(parent, property), 'enum'))
    const values = Object.keys(mapping)
    if (allowed.length > 0 && values.some(value => value !== name && !allowed.includes(value)))
      return undefined
    const oneOf = members
      .filter(member => values.some(value => mapping[value] === member.reference))
      .map(member => ({ $ref: member.reference }))
    return { oneOf, discriminator: { propertyName: property, mapping } }
  }

  #valuesOf({ reference, name, schema }: Member, property: string, mapping: Dict): string[] {
    const mapped = Object.keys(mapping).filter(key => {
      const target = mapping[key]
      if (typeof target !== 'string') return false
      return target === name || target === reference || this.#document.follow({ $ref: target }) === schema
    })
    if (mapped.length > 0) return mapped
    const vendor = text(own(schema, 'x-ms-discriminator-value'))
    if (vendor !== undefined) return [vendor]
    const values = list(own(propertyOf(schema, property), 'enum'))
    const constant = text(own(propertyOf(schema, property), 'const'))
    if (constant !== undefined) return [constant]
    return values.length === 1 && typeof values[0] === 'string' ? [values[0]] : [name]
  }

  #descendants(parent: object): readonly Member[] {
    if (this.#children === undefined) this.#readChildren()
    const found: Member[] = []
    const seen = new Set<object>([parent])
    const queue = [parent]
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      for (const child of this.#children!.get(next) ?? []) {
        if (seen.has(child.schema)) continue
        seen.add(child.schema)
        found.push(child)
        queue.push(child.schema)
      }
    }
    return found
  }

  #readChildren(): void {
    this.#children = new Map()
    const { root, dialect } = this.#document
    const holder = dialect === '2.0' ? root : own(root, 'components')
    const group = dialect === '2.0' ? 'definitions' : 'schemas'
    const schemas = isObject(holder) ? own(holder, group) : undefined
    const at = dialect === '2.0' ? '#/definitions/' : '#/components/schemas/'
    for (const name of isObject(schemas) ? Object.keys(schemas) : []) {
      const schema = (schemas as Dict)[name]
      if (!isObject(schema)) continue
      const member = { reference: `${at}${escapeToken(name).replaceAll('%', '%25')}`, name, schema }
      for (const entry of list(own(schema, 'allOf'))) {
        const parent =
          isObject(entry) && own(entry, '$ref') !== undefined ? this.#document.follow(entry) : undefined
        if (!isObject(parent)) continue
        this.#heirs.add(schema)
        this.#children.set(parent, [...(this.#children.get(parent) ?? []), member])
      }
    }
  }
}

/** The schema of the property in the schema itself or in the inline members of its `allOf`. */
function propertyOf(schema: Dict, property: string): Dict {
  for (const holder of [schema, ...list(own(schema, 'allOf'))]) {
    const properties = isObject(holder) ? own(holder, 'properties') : undefined
    const found = isObject(properties) ? own(properties, property) : undefined
    if (isObject(found)) return found
  }
  return {}
}
