/**
 * Shortens the texts of tool results for token optimization, with a separate path for large ones, and counts the bytes of texts. It leaves
 * `structuredContent` unchanged.
 */

import { runInSlices } from '../../../base/async/slices.ts'
import { readJson, writeJson } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import { beginsAsContainer } from '../../../base/json/json-text.ts'
import type { Content, ToolResult } from '../../../model/tool.ts'
import type { OptimizedResult } from '../../pipeline/exchange-parts.ts'
import type { OptimizationLevel } from '../../pipeline/operation.ts'

export type ActiveLevel = Exclude<OptimizationLevel, 'none'>

/** Characters. Parsing, rewriting and writing a text up to this length takes a few milliseconds, whatever it holds. */
export const MAX_TEXT_IN_PLACE = 32_768
/** Limits of `aggressive`; a marker says how much was left out. */
const MAX_ITEMS = 20
const MAX_CHARACTERS = 300
/** With at least this many objects of the same keys, columns are shorter than repeated keys. */
const MIN_ROWS = 3
/** Deeper values stay unchanged, so that the work is bounded. */
const MAX_DEPTH = 64

/** `structuredContent` stays unchanged: it must match the tool's outputSchema. */
export function optimize(result: ToolResult, level: ActiveLevel): OptimizedResult {
  let savedBytes = 0
  const content = result.content.map((part): Content => {
    if (part.type !== 'text') return part
    const slim = optimizedPart(part, level)
    savedBytes += slim.savedBytes
    return slim.part
  })
  return savedBytes > 0 ? { result: { ...result, content }, savedBytes } : { result, savedBytes: 0 }
}

/**
 * Shortens large texts before `optimize`, which then finds them: JSON by `shorten`, because it is too large for this thread, plain text here.
 * @param shorten undefined when the text stays as it is
 */
export async function optimizeLargeTexts(
  { content }: ToolResult,
  level: ActiveLevel,
  shorten: (text: string) => Promise<string | undefined>,
): Promise<void> {
  for (const part of content) {
    if (!isLargeText(part) || optimizedParts.get(part)?.level === level) continue
    if (!beginsAsContainer(part.text)) {
      await storeLarge(part, level, optimizePlainText(part.text, level))
      continue
    }
    const shorter = await shorten(part.text)
    if (shorter !== undefined) await storeLarge(part, level, shorter)
  }
}

async function storeLarge(part: TextPart, level: ActiveLevel, text: string): Promise<void> {
  if (text === part.text) return void storeOptimized(part, level, text, 0)
  const before = await runInSlices(countingBytes(part.text))
  storeOptimized(part, level, text, before - (await runInSlices(countingBytes(text))))
}

/** Characters; counting their bytes takes a fraction of a millisecond. */
const COUNTED_CHARACTERS = 65_536

/** Bytes in UTF-8: those of 8 MB of text take 30 ms to count. */
export function* countingBytes(text: string): Generator<void, number> {
  let bytes = 0
  for (let from = 0; from < text.length; yield) {
    let to = Math.min(text.length, from + COUNTED_CHARACTERS)
    // a pair of surrogates is one character of four bytes
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--
    bytes += Buffer.byteLength(text.slice(from, to))
    from = to
  }
  return bytes
}

export function isLargeText(part: Content): part is TextPart {
  return part.type === 'text' && part.text.length > MAX_TEXT_IN_PLACE
}

interface OptimizedPart {
  readonly level: ActiveLevel
  readonly part: TextPart
  readonly savedBytes: number
}

type TextPart = Extract<Content, { type: 'text' }>

/** By original part: a cached result is served many times. */
const optimizedParts = new WeakMap<TextPart, OptimizedPart>()

function optimizedPart(part: TextPart, level: ActiveLevel): OptimizedPart {
  const known = optimizedParts.get(part)
  if (known?.level === level) return known
  // `optimizeLargeTexts` could not shorten it
  if (part.text.length > MAX_TEXT_IN_PLACE) return { level, part, savedBytes: 0 }
  return storeOptimized(part, level, optimizeText(part.text, level))
}

function storeOptimized(
  part: TextPart,
  level: ActiveLevel,
  text: string,
  savedBytes = text === part.text ? 0 : Buffer.byteLength(part.text) - Buffer.byteLength(text),
): OptimizedPart {
  const made = { level, part: { ...part, text }, savedBytes }
  optimizedParts.set(part, made)
  return made
}

export function optimizeText(text: string, level: ActiveLevel): string {
  if (!beginsAsContainer(text)) return optimizePlainText(text, level)
  let value: unknown
  try {
    value = readJson(text)
  } catch {
    return optimizePlainText(text, level)
  }
  const slim = dropEmpty(value, 0) ?? (Array.isArray(value) ? [] : {})
  const shaped = foldDuplicates(slim)
  const shorter = writeJson(level === 'aggressive' ? shorten(shaped, 0) : shaped)
  return shorter.length < text.length ? shorter : text
}

function optimizePlainText(text: string, level: ActiveLevel): string {
  return level === 'aggressive' ? shortenText(text) : text
}

/** Removes nulls, empty strings, arrays and objects; array items keep their index. undefined: the value itself is empty. */
function dropEmpty(value: unknown, depth: number): unknown {
  if (value === null || value === '') return undefined
  if (depth > MAX_DEPTH) return value
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map(item => dropEmpty(item, depth + 1) ?? null)
  if (!isObject(value)) return value
  const kept: [string, unknown][] = []
  for (const [key, entry] of Object.entries(value)) {
    const slim = dropEmpty(entry, depth + 1)
    if (slim !== undefined) kept.push([key, slim])
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept)
}

/** For envelopes that repeat a value, such as `{data: […], items: […]}`: a reference replaces the second copy. */
function foldDuplicates(value: unknown): unknown {
  if (!isObject(value)) return value
  const seen = new Map<string, string>()
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      if (!isObject(entry) && !Array.isArray(entry)) return [key, entry]
      const form = writeJson(entry)
      const other = seen.get(form)
      if (other !== undefined) return [key, `(same as ${other})`]
      seen.set(form, key)
      return [key, entry]
    }),
  )
}

function shorten(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return shortenText(value)
  if (depth > MAX_DEPTH) return value
  if (Array.isArray(value)) return shortenArray(value, depth)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, shorten(entry, depth + 1)]))
}

function shortenArray(items: readonly unknown[], depth: number): unknown {
  const leftOut = items.length - MAX_ITEMS
  const marker = leftOut > 0 ? `… ${leftOut} more of ${items.length} items left out` : undefined
  const shown = leftOut > 0 ? items.slice(0, MAX_ITEMS) : items
  const columns = columnsOf(shown)
  if (columns === undefined) {
    const short = shown.map(item => shorten(item, depth + 1))
    return marker === undefined ? short : [...short, marker]
  }
  const rows = shown.map(item =>
    columns.map(column => shorten((item as Record<string, unknown>)[column], depth + 1)),
  )
  return marker === undefined ? { columns, rows } : { columns, rows, left_out: marker }
}

/** The common keys if all items are objects with exactly the same keys. */
function columnsOf(items: readonly unknown[]): readonly string[] | undefined {
  const [first] = items
  if (items.length < MIN_ROWS || !isObject(first)) return undefined
  const columns = Object.keys(first)
  const uniform = items.every(
    item =>
      isObject(item) &&
      Object.keys(item).length === columns.length &&
      columns.every(column => Object.hasOwn(item, column)),
  )
  return uniform && columns.length > 0 ? columns : undefined
}

function shortenText(text: string): string {
  const leftOut = text.length - MAX_CHARACTERS
  if (leftOut <= 0) return text
  // do not split a surrogate pair
  const end = isHighSurrogate(text.charCodeAt(MAX_CHARACTERS - 1)) ? MAX_CHARACTERS - 1 : MAX_CHARACTERS
  return `${text.slice(0, end)}… (${text.length - end} more characters left out)`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
