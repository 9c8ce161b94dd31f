/** From a schema of the served document: values that break it, and where each has to be reported. */

export type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
}

export interface Breakage {
  /** Field of the fault in `details`. */
  readonly field: string
  /** Sets the bad value in a valid body. */
  readonly path: readonly string[]
  readonly value: unknown
}

export function resolve(schema: Schema, schemas: { readonly [name: string]: Schema }): Schema {
  if (schema.$ref !== undefined) return resolve(schemas[schema.$ref.split('/').at(-1)!]!, schemas)
  const [part, none, ...others] = schema.anyOf ?? []
  // a component, or null
  if (part?.$ref !== undefined && none?.type === 'null' && others.length === 0) {
    const component = resolve(part, schemas)
    return { ...component, type: [...typesOf(component), 'null'] }
  }
  const parts = schema.allOf
  return parts === undefined
    ? schema
    : Object.assign({}, ...parts.map(part => resolve(part, schemas)), schema)
}

/** Bad values for every property of a body and of its nested objects; not for those of objects in arrays. */
export function breakages(
  schema: Schema,
  schemas: { readonly [name: string]: Schema },
  path: readonly string[] = [],
): Breakage[] {
  const found: Breakage[] = []
  for (const [name, property] of Object.entries(resolve(schema, schemas).properties ?? {})) {
    const here = [...path, name]
    const resolved = resolve(property, schemas)
    for (const value of badValues(resolved)) found.push({ field: here.join('.'), path: here, value })
    const types = typesOf(resolved)
    if (types.includes('object') && !types.includes('string'))
      found.push(...breakages(resolved, schemas, here))
  }
  return found
}

function typesOf(schema: Schema): readonly string[] {
  if (schema.type !== undefined) return [schema.type].flat()
  return (schema.anyOf ?? schema.oneOf ?? []).flatMap(typesOf)
}

function badValues(schema: Schema): unknown[] {
  const types = typesOf(schema)
  const bad: unknown[] = []
  if (!types.includes('null')) bad.push(null)
  if (!types.includes('string')) bad.push('text')
  if (types.includes('string')) {
    if (!types.includes('object')) bad.push({ an: 'object' })
    bad.push(12_345, true)
    if (schema.enum === undefined && schema.format === undefined) bad.push('with \0 in it')
    const open = schema.pattern === undefined || new RegExp(schema.pattern).test('§ no §')
    if (schema.enum !== undefined || schema.format !== undefined || !open) bad.push('§ no §')
    if (schema.minLength !== undefined && schema.minLength > 0) bad.push('')
    if (schema.maxLength !== undefined) bad.push('x'.repeat(schema.maxLength + 1))
  }
  if (types.includes('integer')) {
    bad.push(1.5)
    if (schema.minimum !== undefined) bad.push(schema.minimum - 1)
    bad.push((schema.maximum ?? Number.MAX_SAFE_INTEGER) + 1)
  }
  if (types.includes('array')) bad.push({}, [7])
  if (types.includes('object') && !types.includes('string')) bad.push([])
  return bad
}
