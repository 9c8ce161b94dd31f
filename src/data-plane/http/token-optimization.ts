/** Makes tool results shorter for a language model (contract §3, "Token optimization"). It never drops data without leaving a marker. */
import { isObject } from '../../model/is-object.ts'
import type { Content, ToolResult } from '../../model/tool.ts'

export const OPTIMIZATION_LEVELS = ['none', 'moderate', 'aggressive'] as const
export type OptimizationLevel = (typeof OPTIMIZATION_LEVELS)[number]

/** Value of `X-Token-Optimization`; absent is `none`; undefined when it is no level. */
export function readLevel(header: string): OptimizationLevel | undefined {
  const value = header.trim().toLowerCase()
  if (value === '') return 'none'
  return OPTIMIZATION_LEVELS.find(level => level === value)
}

/** Limits of `aggressive`: what fits a model's attention, with the rest named by a marker. */
const MAX_ITEMS = 20
const MAX_CHARACTERS = 300
/** From this many alike objects on, columns are shorter than repeated keys. */
const MIN_ROWS = 3
/** Deeper values are left as they are: they are rare, and the work stays bounded. */
const MAX_DEPTH = 64

/**
 * `structuredContent` is left alone, so that it stays valid against the tool's outputSchema.
 * @returns the result, and how many bytes of text were saved
 */
export function optimize(
  result: ToolResult,
  level: OptimizationLevel,
): { readonly result: ToolResult; readonly savedBytes: number } {
  if (level === 'none') return { result, savedBytes: 0 }
  let savedBytes = 0
  const content = result.content.map((part): Content => {
    if (part.type !== 'text') return part
    const slim = optimizedPart(part, level)
    savedBytes += slim.savedBytes
    return slim.part
  })
  return savedBytes > 0 ? { result: { ...result, content }, savedBytes } : { result, savedBytes: 0 }
}

interface OptimizedPart {
  readonly level: OptimizationLevel
  readonly part: TextPart
  readonly savedBytes: number
}

type TextPart = Extract<Content, { type: 'text' }>

/** What came of a part, for as long as that lives: the meter asks, then the answer, and a remembered result is asked for again and again. */
const optimizedParts = new WeakMap<TextPart, OptimizedPart>()

function optimizedPart(part: TextPart, level: 'moderate' | 'aggressive'): OptimizedPart {
  const known = optimizedParts.get(part)
  if (known?.level === level) return known
  const text = optimizeText(part.text, level)
  const savedBytes = Buffer.byteLength(part.text) - Buffer.byteLength(text)
  const made = { level, part: { type: 'text', text }, savedBytes } as const
  optimizedParts.set(part, made)
  return made
}

/** `X-Token-Optimization-Saved`, on every answer for which an optimization was asked. */
export function savedHeader(level: OptimizationLevel, savedBytes: number): readonly string[] {
  return level === 'none' ? [] : ['x-token-optimization-saved', String(savedBytes)]
}

function optimizeText(text: string, level: 'moderate' | 'aggressive'): string {
  const first = text.trimStart()[0]
  if (first !== '{' && first !== '[') return level === 'aggressive' ? shortenText(text) : text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return level === 'aggressive' ? shortenText(text) : text
  }
  const slim = dropEmpty(value, 0) ?? (Array.isArray(value) ? [] : {})
  const shaped = foldDuplicates(slim)
  const shorter = JSON.stringify(level === 'aggressive' ? shorten(shaped, 0) : shaped)
  return shorter.length < text.length ? shorter : text
}

/** Without nulls, empty strings, empty arrays and empty objects; an item of an array keeps its place. undefined: nothing was left. */
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

/** Envelopes such as `{data: […], items: […]}` that say the same twice: the second time says so. */
function foldDuplicates(value: unknown): unknown {
  if (!isObject(value)) return value
  const seen = new Map<string, string>()
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      if (typeof entry !== 'object' || entry === null) return [key, entry]
      const form = JSON.stringify(entry)
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

/** The keys that all items share, when all are objects with exactly those. */
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
  // a cut inside a surrogate pair would leave half a character
  const end = isHighSurrogate(text.charCodeAt(MAX_CHARACTERS - 1)) ? MAX_CHARACTERS - 1 : MAX_CHARACTERS
  return `${text.slice(0, end)}… (${text.length - end} more characters left out)`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
