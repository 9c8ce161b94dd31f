/** Serializes the values of parameters and form fields by style and explode, with an encoder that its callers choose. */

import { runAtOnce } from '../../base/async/slices.ts'
import { isObject } from '../../base/json/is-object.ts'
import type { ParameterBinding } from '../../model/tool.ts'
import {
  encodeEach,
  encodeLong,
  encodeLongEach,
  encode as encodeWhole,
  longText,
  wireText,
} from './encode.ts'

type Encode = (text: string) => string
type Style = ParameterBinding['style']

/** Object entries that have a value; an absent one is not sent. */
function entriesOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, item]) => item !== undefined)
}

/** Separators of array items in a path or header, before encoding; other styles have theirs. */
const PLAIN_DELIMITERS: { readonly [style: string]: string } = {
  spaceDelimited: ' ',
  pipeDelimited: '|',
  tabDelimited: '\t',
}

/** A value in a path or header: `simple`, `label`, `matrix` or a delimited list; the separators of the style are part of the result. */
export function serializeSimple(
  name: string,
  value: unknown,
  style: Style,
  explode: boolean,
  encode: Encode,
): string {
  const item = (one: unknown) => encode(wireText(one))
  const prefix = style === 'label' ? '.' : style === 'matrix' ? ';' : ''
  const separator = explode && style !== 'simple' ? prefix : ','
  const label = style === 'matrix' && !explode ? `${encode(name)}=` : ''
  if (Array.isArray(value)) {
    const items = value.map(item)
    const delimiter = PLAIN_DELIMITERS[style]
    if (delimiter !== undefined) return items.join(encode(delimiter))
    if (style === 'matrix' && explode) return items.map(one => `;${encode(name)}=${one}`).join('')
    return prefix + label + items.join(separator)
  }
  if (isObject(value)) {
    const pairs = entriesOf(value).map(([key, one]) => `${encode(key)}${explode ? '=' : ','}${item(one)}`)
    return prefix + label + pairs.join(separator)
  }
  return style === 'matrix' ? `;${encode(name)}=${item(value)}` : prefix + item(value)
}

/** Separator of array items without `explode`. */
const DELIMITERS: { readonly [style: string]: string } = {
  form: ',',
  spaceDelimited: '%20',
  pipeDelimited: '%7C',
  tabDelimited: '%09',
}

/**
 * A value in a query or form body: the `name=value` pairs it becomes, already encoded.
 * Nested values, which the styles leave open, are JSON; under `deepObject` they nest further, array items by their index.
 */
export function serializePairs(
  name: string,
  value: unknown,
  style: Style,
  explode: boolean,
  encode: Encode,
): string[] {
  if (style === 'deepObject' && (isObject(value) || Array.isArray(value))) {
    return runAtOnce(deepPairs(encode(name), value, encode, 0))
  }
  const delimiter = DELIMITERS[style] ?? ','
  const item = (one: unknown) => encode(wireText(one))
  const label = encode(name)
  if (Array.isArray(value)) {
    const items = encode === encodeWhole ? encodeEach(value.map(wireText)) : value.map(item)
    if (explode) return items.map(one => `${label}=${one}`)
    return [`${label}=${items.join(delimiter)}`]
  }
  if (isObject(value)) {
    const entries = entriesOf(value)
    if (explode) return entries.map(([key, one]) => `${encode(key)}=${item(one)}`)
    return [
      `${label}=${entries.map(([key, one]) => `${encode(key)}${delimiter}${item(one)}`).join(delimiter)}`,
    ]
  }
  return [`${label}=${item(value)}`]
}

/** `serializePairs` for values of any size: the same pairs, and other work may come between its steps. */
export function* serializeLongPairs(
  name: string,
  value: unknown,
  style: Style,
  explode: boolean,
  encode: Encode,
): Generator<void, string[]> {
  const label = encode(name)
  if (style === 'deepObject' && (isObject(value) || Array.isArray(value)))
    return yield* deepPairs(label, value, encode, 0)
  const delimiter = DELIMITERS[style] ?? ','
  if (Array.isArray(value)) {
    const items = yield* encodeLongEach(yield* longTexts(value), encode)
    return explode
      ? yield* mapInSteps(items, one => `${label}=${one}`)
      : [`${label}=${items.join(delimiter)}`]
  }
  if (isObject(value)) {
    const entries = entriesOf(value)
    const keys = yield* encodeLongEach(
      entries.map(([key]) => key),
      encode,
    )
    const items = yield* encodeLongEach(yield* longTexts(entries.map(([, one]) => one)), encode)
    const between = explode ? '=' : delimiter
    const pairs = yield* mapInSteps(items, (one, at) => `${keys[at]}${between}${one}`)
    return explode ? pairs : [`${label}=${pairs.join(delimiter)}`]
  }
  return [`${label}=${yield* encodeLong(yield* longText(value), encode)}`]
}

/** Values that are handled before other work may come between. */
const SLICE_ITEMS = 1_000

function* longTexts(values: readonly unknown[]): Generator<void, string[]> {
  const texts: string[] = []
  for (const value of values) {
    texts.push(yield* longText(value))
    if (texts.length % SLICE_ITEMS === 0) yield
  }
  return texts
}

function* mapInSteps<T, R>(items: readonly T[], map: (item: T, at: number) => R): Generator<void, R[]> {
  const mapped: R[] = []
  for (const item of items) {
    mapped.push(map(item, mapped.length))
    if (mapped.length % SLICE_ITEMS === 0) yield
  }
  return mapped
}

/** Deeper values are JSON. */
const MAX_DEEP = 8

function* deepPairs(label: string, value: object, encode: Encode, depth: number): Generator<void, string[]> {
  const pairs: string[] = []
  for (const [key, one] of entriesOf(value)) {
    const inner = `${label}%5B${encode(key)}%5D`
    if ((isObject(one) || Array.isArray(one)) && depth < MAX_DEEP)
      for (const pair of yield* deepPairs(inner, one, encode, depth + 1)) pairs.push(pair)
    else pairs.push(`${inner}=${yield* encodeLong(yield* longText(one), encode)}`)
    yield
  }
  return pairs
}
