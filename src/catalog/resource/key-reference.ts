/** Reads a reference to one key of a ConfigMap or Secret in a resource. */
import type { KeyReference } from '../../model/tool-set.ts'
import type { ResourceFields } from './fields.ts'

const REFERENCE_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,253}$/

export function readReference(parent: ResourceFields, name: string): KeyReference | undefined {
  const fields = parent.object(name)
  if (fields === undefined) return undefined
  const fix = 'use letters, digits, ".", "_" and "-"'
  const refName = fields.string('name', { max: 253, pattern: REFERENCE_NAME, fix })
  const key = fields.string('key', { max: 253, pattern: REFERENCE_NAME, fix })
  for (const part of ['name', 'key'])
    if (!fields.has(part)) fields.fault(part, 'is missing', `write the ${part}`)
  fields.close()
  return refName === undefined || key === undefined ? undefined : { name: refName, key }
}
