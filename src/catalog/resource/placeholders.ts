/** `${NAME}` in the text of a resource → values of a closed map. It never reads the environment. */
import { isObject } from '../../model/is-object.ts'
import { type Dict, put } from '../compile/dict.ts'
import type { FieldFault } from './fields.ts'

/** An OpenAPI document in the resource is left alone: a `${…}` in it is its own. */
const VERBATIM = 'spec.openAPISpec.inline'

/** A copy with every placeholder filled; unknown names become faults and stay as they are. */
export function fillPlaceholders(
  value: unknown,
  variables: { readonly [name: string]: string },
  faults: FieldFault[],
  path = '',
): unknown {
  if (typeof value === 'string') return path === VERBATIM ? value : fill(value, variables, faults, path)
  if (Array.isArray(value))
    return value.map((item, i) => fillPlaceholders(item, variables, faults, `${path}[${i}]`))
  if (!isObject(value)) return value
  const out: Record<string, unknown> = {}
  for (const key of Object.keys(value as Dict)) {
    put(out, key, fillPlaceholders(value[key], variables, faults, path === '' ? key : `${path}.${key}`))
  }
  return out
}

function fill(
  text: string,
  variables: { readonly [name: string]: string },
  faults: FieldFault[],
  field: string,
): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (placeholder, name: string) => {
    if (Object.hasOwn(variables, name)) return variables[name]!
    const known = Object.keys(variables).join(', ')
    faults.push({
      field,
      reason: `holds ${placeholder}, which is not set`,
      fix: known === '' ? 'write the value itself' : `write the value itself or use one of ${known}`,
    })
    return placeholder
  })
}
