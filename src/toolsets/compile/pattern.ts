/** Which regular expressions of a document a tool keeps: those that a linear-time engine runs too. It matches nothing. */
import { RE2JS } from 're2js'

/** A longer pattern is no help to an agent and costs memory in every validator. */
const MAX_PATTERN_LENGTH = 2_000
/** Verdicts are remembered; documents repeat the same few patterns thousands of times. */
const MAX_REMEMBERED = 10_000
const remembered = new Map<string, string | undefined>()

/**
 * The pattern as a validator may use it, undefined when it must be left out: not ECMAScript with the `u` flag
 * (JSON Schema 2020-12 §6.4) even after needless escapes are taken out, or not possible in linear time
 * (look-around, back references), so that a hostile argument could keep the thread busy for ever.
 */
export function usablePattern(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return undefined
  if (remembered.has(pattern)) return remembered.get(pattern)
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  const usable = [pattern, withoutDelimiters(pattern), withoutNeedlessEscapes(pattern)].find(
    candidate => candidate !== '' && isUnicodeRegExp(candidate) && linearMatcher(candidate) !== undefined,
  )
  remembered.set(pattern, usable)
  return usable
}

/** A matcher whose time is linear in the text, or undefined when the pattern is beyond it. */
export function linearMatcher(pattern: string): { test(text: string): boolean } | undefined {
  // The engine takes back references for literals instead of refusing them.
  if (/\\[1-9]|\\k</.test(pattern)) return undefined
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return { test: text => compiled.matcher(text).find() }
  } catch {
    return undefined
  }
}

function isUnicodeRegExp(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}

/** `/^a$/i` as some authors write it. */
function withoutDelimiters(pattern: string): string {
  return /^\/(.+)\/[a-z]*$/s.exec(pattern)?.[1] ?? ''
}

/** `\_`, `\:` and the like are errors under the `u` flag and mean the character itself. */
function withoutNeedlessEscapes(pattern: string): string {
  return pattern.replace(/\\([^\w^$\\.*+?()[\]{}|/-]|_)/g, '$1')
}
