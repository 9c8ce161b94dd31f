/** Maps the parameters and the body of an operation to the arguments of a tool, and records their places in a request. */
import { isObject } from '../../base/json/is-object.ts'
import type { BodyBinding, ParameterBinding } from '../../model/tool.ts'
import type { ReadBody } from './body.ts'
import { own, put } from './dict.ts'
import { argumentName } from './names.ts'
import type { ReadParameter } from './parameters.ts'
import type { Converted, SchemaConverter } from './schema.ts'
import type { Draft } from './schema-keywords.ts'
import { MAX_FIELD_DESCRIPTION, plainText, repeats } from './words.ts'

export interface Arguments {
  /** The root schema, references not yet bundled. */
  readonly input: Converted
  readonly parameters: readonly ParameterBinding[]
  readonly body: BodyBinding | undefined
}

const BODY_ARGUMENT = 'body'
/** With more pairs, the required arguments require each other in a ring, and every other argument only the first of them. */
const MAX_DEPENDENCIES = 100

class Builder {
  readonly properties: Draft = {}
  readonly required: string[] = []
  /** For an optional body: once one of its fields is given, its required fields are. */
  readonly dependent: Draft = {}
  readonly references = new Map<string, number>()

  has(name: string): boolean {
    return Object.hasOwn(this.properties, name)
  }

  add(name: string, converted: Converted, required: boolean, description: unknown): void {
    for (const [reference, times] of converted.references) {
      this.references.set(reference, (this.references.get(reference) ?? 0) + times)
    }
    put(this.properties, name, withoutRepeats(describeSchema(converted.schema, description), name))
    if (required) this.required.push(name)
  }
}

/**
 * A parameter keeps its name; of two equal names (`id` in path and query) the later in the order path, query, header, cookie becomes
 * `{name}_{place}`. Body fields are separate arguments when the body is a plain object and no name collides; otherwise the whole body is
 * the argument `body`, or `request_body` when a parameter has that name.
 */
export function assembleArguments(
  read: readonly ReadParameter[],
  body: ReadBody | undefined,
  converter: SchemaConverter,
): Arguments {
  const builder = new Builder()
  const parameters = addParameters(read, converter, builder)
  const bodyBinding = body === undefined ? undefined : addBody(body, converter, builder)
  const schema: Draft = { type: 'object', properties: builder.properties }
  if (builder.required.length > 0) schema.required = builder.required
  if (Object.keys(builder.dependent).length > 0) schema.dependentRequired = builder.dependent
  schema.additionalProperties = false
  return { input: { schema, references: builder.references }, parameters, body: bodyBinding }
}

const PLACES = ['path', 'query', 'header', 'cookie'] as const

function addParameters(
  read: readonly ReadParameter[],
  converter: SchemaConverter,
  builder: Builder,
): readonly ParameterBinding[] {
  const bindings: ParameterBinding[] = []
  for (const place of PLACES) {
    for (const parameter of read) {
      if (parameter.binding.in !== place) continue
      const plain = argumentName(parameter.binding.name)
      const argument = freeName(builder, plain, `${plain}_${place}`)
      const converted = converter.convert(parameter.node)
      if (
        place === 'path' &&
        converted.schema.type === 'string' &&
        converted.schema.minLength === undefined
      ) {
        // An empty segment would result in another path.
        converted.schema.minLength = 1
      }
      builder.add(argument, converted, parameter.required, parameter.description)
      bindings.push({ argument, ...parameter.binding })
    }
  }
  return bindings
}

function freeName(builder: Builder, first: string, second: string): string {
  if (!builder.has(first)) return first
  let name = argumentName(second)
  for (let n = 2; builder.has(name); n++) name = argumentName(`${second}_${n}`)
  return name
}

function addBody(body: ReadBody, converter: SchemaConverter, builder: Builder): BodyBinding {
  const lifted = liftable(body, converter, builder)
  const common = { contentType: body.contentType, required: body.required }
  const encoding = Object.keys(body.encoding).length > 0 ? { encoding: body.encoding } : {}
  if (lifted !== undefined) {
    for (const field of lifted) {
      const required = body.required && body.fields!.required.has(field.name)
      const converted = converter.convert(field.node)
      if (body.encoding[field.name]?.binary === true) markBinary(converted.schema)
      builder.add(field.argument, converted, required, undefined)
    }
    if (!body.required) requireTogether(lifted, body.fields!.required, builder.dependent)
    const fields = lifted.map(({ argument, name }) => ({ argument, name }))
    const minFields = body.fields!.minProperties > 0 ? { minFields: body.fields!.minProperties } : {}
    return { ...common, from: { kind: 'fields', fields, ...minFields }, ...encoding }
  }
  const argument = freeName(builder, BODY_ARGUMENT, 'request_body')
  builder.add(argument, wholeBody(body, converter), body.required, body.description)
  const binary = body.kind === 'binary' ? { binary: true } : {}
  return { ...common, from: { kind: 'whole', argument }, ...encoding, ...binary }
}

/** The fields as arguments; undefined when the body must stay whole. */
function liftable(
  body: ReadBody,
  converter: SchemaConverter,
  builder: Builder,
): { readonly argument: string; readonly name: string; readonly node: unknown }[] | undefined {
  if (body.fields === undefined) return undefined
  const lifted: { argument: string; name: string; node: unknown }[] = []
  const taken = new Set<string>()
  for (const [name, node] of body.fields.properties) {
    if (converter.isHidden(node)) continue
    const argument = argumentName(name)
    if (builder.has(argument) || taken.has(argument) || name === '__proto__') return undefined
    taken.add(argument)
    lifted.push({ argument, name, node })
  }
  return lifted
}

/** An optional body is omitted as a whole, or has all of its required fields. */
function requireTogether(
  lifted: readonly { readonly argument: string; readonly name: string }[],
  required: ReadonlySet<string>,
  dependent: Draft,
): void {
  const needed = lifted.filter(({ name }) => required.has(name)).map(({ argument }) => argument)
  const isSmall = lifted.length * needed.length <= MAX_DEPENDENCIES
  for (const { argument } of lifted) {
    const at = needed.indexOf(argument)
    const others = isSmall ? needed.filter(other => other !== argument) : needed.slice(at + 1, at + 2)
    // The last one closes the ring.
    if (!isSmall && at === needed.length - 1 && at > 0) others.push(needed[0]!)
    if (others.length > 0) put(dependent, argument, others)
  }
}

function wholeBody(body: ReadBody, converter: SchemaConverter): Converted {
  if (body.kind === 'text') {
    return textBody(body, converter, `The request body as text (${body.contentType}).`)
  }
  if (body.kind === 'binary') {
    const description = `The request body, encoded in Base64 (${body.contentType}).`
    return { schema: { type: 'string', contentEncoding: 'base64', description }, references: new Map() }
  }
  const converted = converter.convert(body.node)
  const properties = own(converted.schema, 'properties')
  if (isObject(properties)) {
    for (const name of Object.keys(body.encoding)) {
      const property = own(properties, name)
      if (body.encoding[name]?.binary === true && isObject(property)) markBinary(property as Draft)
    }
  }
  return converted
}

function textBody(body: ReadBody, converter: SchemaConverter, description: string): Converted {
  const converted = converter.convert(body.node)
  if (converted.schema.type === 'string') return converted
  return { schema: { type: 'string', description }, references: new Map() }
}

/** Bytes are base64 in JSON arguments, and sent decoded. */
function markBinary(schema: Draft): void {
  const target = isObject(schema.items) ? (schema.items as Draft) : schema
  delete target.format
  delete target.contentMediaType
  if (target.type === undefined) target.type = 'string'
  target.contentEncoding = 'base64'
}

function withoutRepeats(schema: Draft, name: string): Draft {
  if (!repeats(schema.title, name)) return schema
  const { title: _, ...rest } = schema
  return rest
}

/** The description of the parameter takes precedence over that of its schema. */
function describeSchema(schema: Draft, description: unknown): Draft {
  const clean = plainText(description, MAX_FIELD_DESCRIPTION)
  if (clean === '') return schema
  const example = /(?:^|\n)Example: [\s\S]*$/.exec(String(schema.description ?? ''))?.[0]?.trim()
  const whole = example === undefined || clean.includes(example) ? clean : `${clean}\n${example}`
  return { ...schema, description: whole }
}
