/** Converts OpenAPI schemas to JSON Schema 2020-12 for requests or for responses. `bundle.ts` adds the definitions that converted schemas refer to. */

import { isObject } from '../../base/json/is-object.ts'
import { usablePattern } from '../../base/json-schema/pattern.ts'
import { shownReference } from '../../base/shown-address.ts'
import { type Dict, list, own, put, strings } from './dict.ts'
import type { OpenDocument } from './document.ts'
import { Families } from './families.ts'
import { copyKeywords, type Draft, dependentRequired, isNullable, typesOf } from './schema-keywords.ts'
import { repeats } from './words.ts'

/** `request` omits readOnly properties, `response` writeOnly ones (OpenAPI 3.1 §4.8.24). */
export type SchemaDirection = 'request' | 'response'

/** A converted schema and the definitions it refers to by name. */
export interface Converted {
  readonly schema: Draft
  /** Name → number of references. */
  readonly references: ReadonlyMap<string, number>
}

/** Deeper nesting (not counting references) becomes a schema that allows anything. */
const MAX_DEPTH = 40

export class SchemaConverter {
  readonly #document: OpenDocument
  readonly #direction: SchemaDirection
  readonly #notice: (message: string) => void
  /** Pointer in the document → name under `$defs`. */
  readonly #names = new Map<string, string>()
  readonly #targets = new Map<string, unknown>()
  readonly #byTarget = new Map<unknown, string>()
  readonly #definitions = new Map<string, Converted>()
  readonly #families: Families
  /** Choices of `Families`: their members are not choices again. */
  readonly #choices = new WeakSet<object>()

  constructor(document: OpenDocument, direction: SchemaDirection, notice: (message: string) => void) {
    this.#document = document
    this.#direction = direction
    this.#notice = notice
    this.#families = new Families(document)
  }

  convert(node: unknown): Converted {
    const references = new Map<string, number>()
    return { schema: this.#convert(node, references, 0), references }
  }

  /** The definition with this name, converted on first use. */
  definition(name: string): Converted {
    let converted = this.#definitions.get(name)
    if (converted === undefined) {
      converted = this.convert(this.#targets.get(name))
      if (repeats(converted.schema.title, name)) delete converted.schema.title
      this.#definitions.set(name, converted)
    }
    return converted
  }

  /** @param alone a reference to a schema with a discriminator means that schema, not those that inherit from it */
  #convert(node: unknown, references: Map<string, number>, depth: number, alone = false): Draft {
    if (node === false) return { not: {} }
    if (!isObject(node)) return {}
    if (depth > MAX_DEPTH) {
      this.#notice(`a schema is nested deeper than ${MAX_DEPTH} levels: deeper levels allow any value`)
      return {}
    }
    const reference = own(node, '$ref') ?? own(node, '$dynamicRef')
    if (typeof reference === 'string') return this.#reference(node, reference, references, depth, alone)
    return this.#plain(node, references, depth)
  }

  #reference(
    node: Dict,
    reference: string,
    references: Map<string, number>,
    depth: number,
    alone: boolean,
  ): Draft {
    const choice = alone || this.#direction === 'response' ? undefined : this.#families.choiceOf(reference)
    if (choice !== undefined) this.#choices.add(choice)
    const name = choice === undefined ? this.#nameOf(reference) : this.#nameFor(choice, reference, 'Any')
    if (name === undefined) {
      this.#notice(
        `the target of $ref ${shownReference(reference).slice(0, 120)} is not in the document: this part of the schema allows any value`,
      )
      return {}
    }
    references.set(name, (references.get(name) ?? 0) + 1)
    const out: Draft = { $ref: `#/$defs/${name}` }
    // Siblings of $ref apply from 3.1 on; before, only the description is kept.
    const { $ref: _, $dynamicRef: __, ...siblings } = node
    if (this.#document.dialect === '3.1') {
      const own_ = this.#plain(siblings, references, depth)
      const { type, ...rest } = own_
      return { ...rest, ...(Object.hasOwn(siblings, 'type') ? { type } : {}), ...out }
    }
    const annotations: Draft = {}
    copyKeywords({ description: own(node, 'description') }, annotations, undefined, () => {})
    return isNullable(node, this.#document.dialect)
      ? { ...annotations, anyOf: [out, { type: 'null' }] }
      : { ...annotations, ...out }
  }

  #nameOf(reference: string): string | undefined {
    const known = this.#names.get(reference)
    if (known !== undefined) return known
    const target = this.#document.resolve(reference)
    if (!isObject(target) && typeof target !== 'boolean') return undefined
    // A loop of references has no target.
    if (this.#document.follow(target) === undefined) return undefined
    return this.#nameFor(target, reference, '')
  }

  /** The name of a target in `$defs`: one name for all references to it. */
  #nameFor(target: unknown, reference: string, prefix: string): string {
    const key = `${prefix}${reference}`
    const known = this.#names.get(key) ?? this.#byTarget.get(target)
    if (known !== undefined) return known
    const last = reference.slice(reference.lastIndexOf('/') + 1)
    const base =
      `${prefix}${last}`
        .replace(/%[0-9a-f]{2}/gi, '_')
        .replace(/[^\w.-]+/g, '_')
        .slice(0, 60) || 'Schema'
    let name = base
    for (let n = 2; this.#targets.has(name) || name === '__proto__'; n++) name = `${base}_${n}`
    this.#names.set(key, name)
    this.#targets.set(name, target)
    if (isObject(target)) this.#byTarget.set(target, name)
    return name
  }

  #plain(node: Dict, references: Map<string, number>, depth: number): Draft {
    const { dialect } = this.#document
    const out: Draft = {}
    let types = typesOf(node, dialect)
    if (types === undefined && isObject(own(node, 'properties')) && !isComposed(node)) types = ['object']
    if (types === undefined && isObject(own(node, 'items')) && !isComposed(node)) types = ['array']
    if (types !== undefined) out.type = types.length === 1 ? types[0] : types
    copyKeywords(node, out, types, what =>
      this.#notice(`${what} is omitted: it is invalid or cannot be matched in linear time`),
    )
    if (String(own(node, 'type')).toLowerCase() === 'file') {
      delete out.format
      out.contentEncoding = 'base64'
    }
    const below = (child: unknown): Draft => this.#convert(child, references, depth + 1)
    if (allows(types, 'object')) this.#object(node, out, below)
    if (allows(types, 'array')) arrayKeywords(node, out, types, below)
    const alone = (child: unknown): Draft => this.#convert(child, references, depth + 1, true)
    this.#composition(node, out, below, alone)
    if (types === undefined && isNullable(node, dialect) && isComposed(node)) return nullable(out)
    return out
  }

  #object(node: Dict, out: Draft, below: (child: unknown) => Draft): void {
    const properties = own(node, 'properties')
    const hidden = new Set<string>()
    if (isObject(properties)) {
      const converted: Draft = {}
      for (const name of Object.keys(properties)) {
        if (this.isHidden(properties[name])) hidden.add(name)
        else {
          const property = below(properties[name])
          if (repeats(property.title, name)) delete property.title
          put(converted, name, property)
        }
      }
      out.properties = converted
    }
    const required = strings(own(node, 'required')).filter(name => !hidden.has(name))
    if (required.length > 0) out.required = required
    const additional = own(node, 'additionalProperties')
    if (typeof additional === 'boolean') out.additionalProperties = additional
    else if (isObject(additional)) out.additionalProperties = below(additional)
    for (const keyword of ['patternProperties', 'dependentSchemas'] as const) {
      const group = own(node, keyword)
      if (!isObject(group)) continue
      const converted: Draft = {}
      for (const name of Object.keys(group)) {
        const key = keyword === 'patternProperties' ? usablePattern(name) : name
        if (key !== undefined) put(converted, key, below(group[name]))
      }
      out[keyword] = converted
    }
    const dependent = dependentRequired(node)
    if (dependent !== undefined) out.dependentRequired = dependent
    for (const keyword of ['propertyNames', 'unevaluatedProperties'] as const) {
      const child = own(node, keyword)
      if (isObject(child) || typeof child === 'boolean') out[keyword] = child === true ? true : below(child)
    }
  }

  /** readOnly in a request, writeOnly in a response: on the property itself or behind its reference. */
  isHidden(property: unknown): boolean {
    const keyword = this.#direction === 'request' ? 'readOnly' : 'writeOnly'
    if (isObject(property) && own(property, keyword) === true) return true
    const target = this.#document.follow(property)
    return isObject(target) && own(target, keyword) === true
  }

  #composition(
    node: Dict,
    out: Draft,
    below: (child: unknown) => Draft,
    alone: (child: unknown) => Draft,
  ): void {
    const isChoice = this.#choices.has(node)
    for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
      const members = list(own(node, keyword)).filter(
        member => isObject(member) || typeof member === 'boolean',
      )
      if (members.length === 0) continue
      const isAlone = isChoice || (keyword === 'allOf' && this.#families.isHeir(node))
      out[keyword] = members.map(isAlone ? alone : below)
      if (keyword === 'oneOf') this.#discriminate(node, members, out)
    }
    for (const keyword of ['not', 'if', 'then', 'else'] as const) {
      const child = own(node, keyword)
      if (isObject(child)) out[keyword] = below(child)
    }
    simplifyAllOf(out)
  }

  /** Each branch of a discriminator gets its constant, so that exactly one can match (OpenAPI 3.1 §4.8.25). */
  #discriminate(node: Dict, members: readonly unknown[], out: Draft): void {
    const discriminator = own(node, 'discriminator')
    const property = isObject(discriminator) ? own(discriminator, 'propertyName') : undefined
    if (typeof property !== 'string' || property === '__proto__') return
    const mapping = isObject(discriminator) ? own(discriminator, 'mapping') : undefined
    const branches = out.oneOf as Draft[]
    out.oneOf = branches.map((branch, i) => {
      const member = members[i]
      const reference = isObject(member) ? own(member, '$ref') : undefined
      if (typeof reference !== 'string') return branch
      const name = reference.slice(reference.lastIndexOf('/') + 1)
      const mapped = isObject(mapping)
        ? Object.keys(mapping).filter(key => mapping[key] === reference || mapping[key] === name)
        : []
      const values = mapped.length > 0 ? mapped : [name]
      const constraint = values.length === 1 ? { const: values[0] } : { enum: values }
      return { allOf: [branch, { properties: { [property]: constraint }, required: [property] }] }
    })
  }
}

function allows(types: readonly string[] | undefined, type: string): boolean {
  return types === undefined || types.includes(type)
}

function isComposed(node: Dict): boolean {
  return ['allOf', 'anyOf', 'oneOf', 'not', 'enum', 'const'].some(keyword => Object.hasOwn(node, keyword))
}

function arrayKeywords(
  node: Dict,
  out: Draft,
  types: readonly string[] | undefined,
  below: (child: unknown) => Draft,
): void {
  const items = own(node, 'items')
  const prefix = Array.isArray(items) ? items : own(node, 'prefixItems')
  if (Array.isArray(prefix) && prefix.length > 0) out.prefixItems = prefix.map(below)
  if (isObject(items)) out.items = below(items)
  else if (types?.includes('array') && out.prefixItems === undefined) out.items = {}
  const contains = own(node, 'contains')
  if (isObject(contains)) out.contains = below(contains)
}

/** Replaces `allOf` with one member, which 3.0 documents use to describe a reference, by that member. */
function simplifyAllOf(out: Draft): void {
  const members = out.allOf
  if (!Array.isArray(members) || members.length !== 1) return
  const only = members[0] as Draft
  const rest = Object.keys(out).filter(key => key !== 'allOf')
  if (rest.some(key => !['title', 'description', 'deprecated', 'default'].includes(key))) return
  delete out.allOf
  for (const key of Object.keys(only)) if (!Object.hasOwn(out, key)) put(out, key, only[key])
}

function nullable(schema: Draft): Draft {
  const { title, description, ...rest } = schema
  const annotations: Draft = {}
  if (title !== undefined) annotations.title = title
  if (description !== undefined) annotations.description = description
  return { ...annotations, anyOf: [rest, { type: 'null' }] }
}
