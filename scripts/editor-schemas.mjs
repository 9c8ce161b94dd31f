/** Makes the schemas with which editors check files of resources from the custom resource definitions. */

const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value)

/** What Kubernetes adds to JSON Schema, in the words of JSON Schema; fields that it would remove are errors in an editor. */
function plain(schema) {
  if (Array.isArray(schema)) return schema.map(plain)
  if (!isObject(schema)) return schema
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true
  const entries = Object.entries(schema)
    .filter(([name]) => !name.startsWith('x-kubernetes-') && name !== 'nullable')
    .map(([name, value]) => [name, name === 'properties' ? mapped(value) : plain(value)])
  const result = Object.fromEntries(entries)
  // files have placeholders, which the gateway fills in before it checks them
  if (typeof result.pattern === 'string') result.pattern = `(?:${result.pattern})|\\$\\{[A-Z][A-Z0-9_]*\\}`
  if (schema['x-kubernetes-int-or-string'] === true) return { ...result, type: ['integer', 'string'] }
  if (result.properties !== undefined && !open && result.additionalProperties === undefined)
    result.additionalProperties = false
  return result
}

function mapped(properties) {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plain(schema)]))
}

/** @returns the schema of the spec in the newest version of a definition */
export function specOf(definition) {
  return definition.spec.versions.at(-1).schema.openAPIV3Schema.properties.spec
}

/** @returns the JSON Schema of the newest version of a definition */
export function editorSchema(definition) {
  const { group, names, versions } = definition.spec
  const { name } = versions.at(-1)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: `${names.kind} of Toolgate`,
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: {
      apiVersion: { const: `${group}/${name}` },
      kind: { const: names.kind },
      metadata: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
      spec: plain(specOf(definition)),
      status: { type: 'object' },
    },
  }
}
