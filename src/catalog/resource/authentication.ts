/** Reads how the gateway authenticates at a backend, in the spec of a resource. It reads no secret. */
import type { ToolDefaults } from '../../model/tool-set.ts'
import type { ResourceFields } from './fields.ts'
import { readReference } from './key-reference.ts'

/** The field `authentication`. */
export function readAuthentication(parent: ResourceFields): ToolDefaults['authentication'] | undefined {
  const fields = parent.object('authentication')
  return fields && readAuthenticationFields(fields)
}

/** Its fields, and no others that were not read before. */
export function readAuthenticationFields(fields: ResourceFields): ToolDefaults['authentication'] {
  const type = fields.oneOf('type', ['none', 'bearer', 'basic', 'apiKey'] as const) ?? 'none'
  const secretRef = readReference(fields, 'secretRef')
  if (type !== 'none' && !fields.has('secretRef')) {
    fields.fault('secretRef', `is missing for type ${type}`, 'name the secret that holds the credential')
  }
  fields.close()
  return { type, ...(secretRef === undefined ? {} : { secretRef }) }
}
