/** Prepares functions that build the body of a request and its `Content-Type` from arguments. */

import { runAtOnce } from '../../base/async/slices.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import { longJson } from '../../base/json/long-json.ts'
import type { BodyBinding } from '../../model/tool.ts'
import { encode, encodeLong, encodeReserved, longText, wireText } from './encode.ts'
import { multipartBody } from './multipart.ts'
import { serializeLongPairs } from './serialize.ts'

type Args = { readonly [name: string]: unknown }

export interface BuiltBody {
  readonly contentType: string
  readonly body: string | Uint8Array
}

/** Both give undefined when the request has no body. */
export interface PreparedBody {
  build(args: Args): BuiltBody | undefined
  /** The same for arguments of any size; other work may come between its steps. */
  buildInSteps(args: Args): Generator<void, BuiltBody | undefined>
}

type Render = (value: unknown) => Generator<void, BuiltBody>

export function prepareBody(binding: BodyBinding): PreparedBody {
  const value = prepareValue(binding)
  const { contentType } = binding
  const render = renderer(binding)
  if (render === undefined)
    return {
      build(args) {
        const given = value(args)
        return given === undefined ? undefined : { contentType, body: writeJson(given) ?? 'null' }
      },
      *buildInSteps(args) {
        const given = value(args)
        return given === undefined ? undefined : { contentType, body: yield* longJson(given) }
      },
    }
  function* buildInSteps(args: Args): Generator<void, BuiltBody | undefined> {
    const given = value(args)
    return given === undefined ? undefined : yield* render!(given)
  }
  return { build: args => runAtOnce(buildInSteps(args)), buildInSteps }
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

/** undefined: the value is written as JSON. */
function renderer(binding: BodyBinding): Render | undefined {
  const { contentType } = binding
  const encoding = binding.encoding ?? {}
  if (binding.binary === true)
    return function* (value) {
      const body = Buffer.from(wireText(value), 'base64')
      yield
      return { contentType, body }
    }
  if (contentType === 'application/x-www-form-urlencoded')
    return function* (value) {
      return { contentType, body: yield* formBody(fieldsOf(value), encoding) }
    }
  if (contentType.startsWith('multipart/'))
    return function* (value) {
      const { body, boundary } = yield* multipartBody(fieldsOf(value), encoding)
      return { contentType: `${contentType}; boundary=${boundary}`, body }
    }
  if (!isText(contentType)) return undefined
  return function* (value) {
    return { contentType, body: yield* longText(value) }
  }
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

/** application/x-www-form-urlencoded (OpenAPI 3.1 §4.8.14.4, §4.8.15): style rules where the document gives any, else JSON for objects and one pair for each array item. */
function* formBody(
  fields: readonly (readonly [string, unknown])[],
  encoding: NonNullable<BodyBinding['encoding']>,
): Generator<void, string> {
  const pairs: string[] = []
  for (const [name, value] of fields) {
    if (value === undefined || value === null) continue
    const rule = Object.hasOwn(encoding, name) ? encoding[name]! : {}
    const encoder = rule.allowReserved === true ? encodeReserved : encode
    const styled = rule.style !== undefined || rule.explode !== undefined
    const asJson = rule.contentType?.endsWith('json') === true || (!styled && !Array.isArray(value))
    if (asJson) pairs.push(`${encode(name)}=${yield* encodeLong(yield* longText(value), encoder)}`)
    else {
      const style = rule.style ?? 'form'
      const explode = rule.explode ?? style === 'form'
      pairs.push((yield* serializeLongPairs(name, value, style, explode, encoder)).join('&'))
    }
    yield
  }
  return pairs.filter(pair => pair !== '').join('&')
}
