/** Arguments → the bytes of a body, by media type. It sets no header but `Content-Type`. */
import { writeJson } from '../../model/exact-number.ts'
import { isObject } from '../../model/is-object.ts'
import type { BodyBinding } from '../../model/tool.ts'
import { encode, encodeReserved, wireText } from './encode.ts'
import { multipartBody } from './multipart.ts'
import { serializePairs } from './serialize.ts'

type Args = { readonly [name: string]: unknown }

interface BuiltBody {
  readonly contentType: string
  readonly body: string | Uint8Array
}

/** The returned function gives undefined when the request has no body. */
export function prepareBody(binding: BodyBinding): (args: Args) => BuiltBody | undefined {
  const value = prepareValue(binding)
  const render = renderer(binding)
  return args => {
    const given = value(args)
    return given === undefined ? undefined : render(given)
  }
}

function prepareValue(binding: BodyBinding): (args: Args) => unknown {
  const { from } = binding
  if (from.kind === 'whole') return args => args[from.argument]
  return args => {
    const body: Record<string, unknown> = {}
    let given = binding.required
    for (const { argument, name } of from.fields) {
      const value = args[argument]
      if (value === undefined) continue
      body[name] = value
      given = true
    }
    return given ? body : undefined
  }
}

function renderer(binding: BodyBinding): (value: unknown) => BuiltBody {
  const { contentType } = binding
  const encoding = binding.encoding ?? {}
  if (binding.binary === true) {
    return value => ({ contentType, body: Buffer.from(wireText(value), 'base64') })
  }
  if (contentType === 'application/x-www-form-urlencoded') {
    return value => ({ contentType, body: formBody(fieldsOf(value), encoding) })
  }
  if (contentType.startsWith('multipart/')) {
    return value => {
      const { body, boundary } = multipartBody(fieldsOf(value), encoding)
      return { contentType: `${contentType}; boundary=${boundary}`, body }
    }
  }
  if (isText(contentType)) return value => ({ contentType, body: wireText(value) })
  return value => ({ contentType, body: writeJson(value) ?? 'null' })
}

/** Text is sent as it is; an object under such a type is JSON, because the compiler offered it as one. */
function isText(contentType: string): boolean {
  return (
    !/[/+]json$/.test(contentType) &&
    /^text\/|[/+](xml|yaml|x-yaml|javascript|graphql|csv|x-ndjson|jsonl|sparql-query)$/.test(contentType)
  )
}

function fieldsOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : []
}

/** application/x-www-form-urlencoded (OpenAPI 3.1 §4.8.15): style rules where the document gives any, else JSON for objects and one pair for each array item. */
function formBody(
  fields: readonly (readonly [string, unknown])[],
  encoding: NonNullable<BodyBinding['encoding']>,
): string {
  const pairs: string[] = []
  for (const [name, value] of fields) {
    if (value === undefined || value === null) continue
    const rule = Object.hasOwn(encoding, name) ? encoding[name]! : {}
    const encoder = rule.allowReserved === true ? encodeReserved : encode
    const styled = rule.style !== undefined || rule.explode !== undefined
    const asJson = rule.contentType?.endsWith('json') === true || (!styled && !Array.isArray(value))
    if (asJson) pairs.push(`${encode(name)}=${encoder(wireText(value))}`)
    else {
      const style = rule.style ?? 'form'
      pairs.push(...serializePairs(name, value, style, rule.explode ?? style === 'form', encoder))
    }
  }
  return pairs.join('&')
}
