/** Lists the members of a node of an OpenAPI document that may hold references. */
import { isObject } from '../../base/json/is-object.ts'

/** Fields whose members are named by the author, so that none of those names is a keyword. */
const NAMED = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies', 'definitions', '$defs'],
  ...['paths', 'webhooks', 'pathItems', 'callbacks', 'responses', 'headers', 'content', 'encoding', 'links'],
  ...['schemas', 'parameters', 'requestBodies', 'securitySchemes', 'securityDefinitions', 'mediaTypes'],
])
/** Fields with values of any form, in which `$ref` is not a reference. */
const VALUES = new Set(['example', 'examples', 'default', 'enum', 'const', 'mapping'])

/** `named`: the keys of the value are names. */
export interface Child {
  readonly key: string
  readonly value: unknown
  readonly named: boolean
}

/** The members that may hold references. */
export function* childrenOf(node: object, named: boolean): Generator<Child> {
  if (Array.isArray(node)) {
    for (let i = 0; i < node.length; i++) yield { key: String(i), value: node[i], named: false }
    return
  }
  for (const [key, value] of Object.entries(node)) {
    if (value === null || typeof value !== 'object') continue
    if (named) yield { key, value, named: false }
    else if (!VALUES.has(key) && !key.startsWith('x-'))
      yield { key, value, named: NAMED.has(key) && isObject(value) }
  }
}
