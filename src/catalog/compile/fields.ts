/** Reads the named fields of a schema that describes a plain object, including those that `allOf` adds. */
import { writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import { type Dict, list, own, strings } from './dict.ts'
import type { OpenDocument } from './document.ts'

export interface Fields {
  /** Name → schema in the document. */
  readonly properties: ReadonlyMap<string, unknown>
  readonly required: ReadonlySet<string>
  /** Default 0. */
  readonly minProperties: number
}

/** Keywords that apply to the object as a whole: separate arguments would lose them. */
const MORE_THAN_FIELDS =
  'oneOf anyOf not if then else enum const discriminator patternProperties propertyNames dependentRequired dependentSchemas dependencies maxProperties unevaluatedProperties $dynamicRef'.split(
    ' ',
  )
const MAX_DEPTH = 16

/** undefined when the schema is anything but an object with named fields. */
export function fieldsOf(document: OpenDocument, node: unknown): Fields | undefined {
  const properties = new Map<string, unknown>()
  const required = new Set<string>()
  if (!collect(document, node, properties, required, 0)) return undefined
  if (properties.size === 0 && required.size === 0 && !isEmpty(document.follow(node))) return undefined
  // Adds fields that are required but not described, which callers could not set otherwise.
  for (const name of required) if (!properties.has(name)) properties.set(name, {})
  return { properties, required, minProperties: minPropertiesOf(document.follow(node)) }
}

/** True for an object that says it has no fields, as `properties: {}`; without the keyword it may have any. */
function isEmpty(schema: unknown): boolean {
  if (!isObject(schema) || own(schema, 'allOf') !== undefined) return false
  return isObject(own(schema, 'properties')) || own(schema, 'additionalProperties') === false
}

function collect(
  document: OpenDocument,
  node: unknown,
  properties: Map<string, unknown>,
  required: Set<string>,
  depth: number,
): boolean {
  const schema = document.follow(node)
  if (!isObject(schema) || depth > MAX_DEPTH || !isOnlyFields(schema)) return false
  if (isObject(node) && Object.hasOwn(node, '$ref') && hasSiblings(node, document)) return false
  for (const member of list(own(schema, 'allOf'))) {
    if (!collect(document, member, properties, required, depth + 1)) return false
  }
  const given = own(schema, 'properties')
  for (const name of isObject(given) ? Object.keys(given) : []) {
    const before = properties.get(name)
    const after = (given as Dict)[name]
    properties.set(name, before === undefined || same(before, after) ? after : { allOf: [before, after] })
  }
  for (const name of strings(own(schema, 'required'))) required.add(name)
  return true
}

function isOnlyFields(schema: Dict): boolean {
  const type = own(schema, 'type')
  const isObject = type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))
  if (!isObject || MORE_THAN_FIELDS.some(keyword => Object.hasOwn(schema, keyword))) return false
  const additional = own(schema, 'additionalProperties')
  return additional === undefined || additional === false
}

/** Siblings of a reference are ignored before 3.1. */
function hasSiblings(node: Dict, document: OpenDocument): boolean {
  return (
    document.dialect === '3.1' &&
    Object.keys(node).some(key => !['$ref', 'description', 'summary', 'title', 'deprecated'].includes(key))
  )
}

function same(a: unknown, b: unknown): boolean {
  return a === b || writeJson(a) === writeJson(b)
}

function minPropertiesOf(schema: unknown): number {
  const value = isObject(schema) ? own(schema, 'minProperties') : undefined
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0
}
