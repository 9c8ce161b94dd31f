/** Fills `${NAME}` placeholders in texts of a resource from a given map, and reports unknown names. */
import { isObject } from '../../base/json/is-object.ts'
import type { ResourceFault } from '../../model/resource-fault.ts'
import { type Dict, put } from '../compile/dict.ts'

/** An inline OpenAPI document is not changed: `${…}` in it is literal. */
const VERBATIM = 'spec.openAPISpec.inline'

/** A copy with placeholders replaced; unknown names stay, each with a fault. */
export function fillPlaceholders(
  value: unknown,
  variables: { readonly [name: string]: string },
  faults: ResourceFault[],
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
  faults: ResourceFault[],
  field: string,
): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (placeholder, name: string) => {
    if (Object.hasOwn(variables, name)) return variables[name]!
    const known = Object.keys(variables).join(', ')
    faults.push({
      field,
      reason: `contains ${placeholder}, which is not a known placeholder`,
      fix: known === '' ? 'write the value itself' : `write the value itself, or use one of ${known}`,
    })
    return placeholder
  })
}
