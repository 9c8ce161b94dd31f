/** Decides which regular expressions of documents are usable, makes their matchers, and estimates the time of a match. */

import { RE2JS } from 're2js'
import { BoundedMap } from '../async/bounded-map.ts'
import { programBound } from './pattern-bound.ts'
import { isPlainlyLinear } from './plain-pattern.ts'

/** A longer pattern does not help an agent and costs memory in every validator. */
const MAX_PATTERN_LENGTH = 2_000
/** Verdicts are cached; documents repeat the same few patterns thousands of times. */
const MAX_CACHED = 10_000
const MAX_COUNT = 1_000
const cached = new BoundedMap<string, string | undefined>(MAX_CACHED)

/**
 * The pattern as a validator may use it, undefined when it must be left out: not ECMAScript with the `u` flag
 * (JSON Schema 2020-12 §6.4) even after needless escapes are taken out, or not possible in linear time
 * (look-around, back references), so that a hostile argument could keep the thread busy indefinitely,
 * or a program of more than MAX_PROGRAM instructions.
 */
export function usablePattern(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN_LENGTH) return undefined
  if (cached.has(pattern)) return cached.get(pattern)
  const usable = repairs(pattern).find(
    candidate =>
      candidate !== '' &&
      unicodeRegExp(candidate) !== undefined &&
      linearMatcher(candidate) !== undefined &&
      programSize(candidate) <= MAX_PROGRAM,
  )
  cached.set(pattern, usable)
  return usable
}

interface Matcher {
  test(text: string): boolean
}

/** Validators of one schema, and those of many schemas, have the same patterns; compiling one takes a millisecond. */
const MAX_MATCHERS = 500
const matchers = new BoundedMap<string, Matcher | undefined>(MAX_MATCHERS)

/** A matcher whose time is linear in the text, or undefined when the pattern is beyond it. */
export function linearMatcher(pattern: string): Matcher | undefined {
  if (matchers.has(pattern)) return matchers.get(pattern)
  const matcher = compileMatcher(pattern)
  matchers.set(pattern, matcher)
  return matcher
}

function compileMatcher(pattern: string): Matcher | undefined {
  // Most patterns of real documents, at a tenth of the cost.
  const plain = isPlainlyLinear(pattern) ? unicodeRegExp(pattern) : undefined
  if (plain !== undefined) return { test: text => plain.test(text) }
  // The engine takes back references for literals instead of refusing them.
  if (/\\[1-9]|\\k</.test(pattern)) return undefined
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(withSmallCounts(pattern)))
    return { test: text => compiled.matcher(text).find() }
  } catch {
    return undefined
  }
}

/** Nanoseconds for one step of an instruction on one character, and how many steps a character costs beside the program. */
const STEP_NS = 45
const STEPS_PER_CHAR = 20
/** Instructions; a longer program takes milliseconds to build and to match a kilobyte. */
const MAX_PROGRAM = 3_000
/** For V8's engine on a pattern that it runs in linear time: it tries as many characters again as `plain-pattern.ts` allows. */
const PLAIN_CHAR_NS = 100

/** Nanoseconds for one character of a text, at most: the linear-time engine may be in every state of its program at once. */
export function patternSteps(pattern: string): number {
  const size = programBound(pattern)
  return size === 0 ? PLAIN_CHAR_NS : STEP_NS * (size + STEPS_PER_CHAR)
}

/** Instructions of the linear-time engine; 0 for a pattern that it does not run. */
function programSize(pattern: string): number {
  if (isPlainlyLinear(pattern)) return 0
  try {
    return RE2JS.compile(RE2JS.translateRegExp(withSmallCounts(pattern))).programSize()
  } catch {
    return 0
  }
}

/** The engine counts to 1,000: what may repeat more often may repeat without end (the schema's `maxLength` still holds). */
function withSmallCounts(pattern: string): string {
  return pattern.replace(/(?<!\\)\{(\d+)(,(\d*))?\}/g, (count, from: string, range?: string, to?: string) => {
    const max = Number(range === undefined ? from : to)
    return max > MAX_COUNT ? `{${Math.min(Number(from), MAX_COUNT)},}` : count
  })
}

/** @returns undefined when the pattern is none with the `u` flag */
function unicodeRegExp(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
}

/** The pattern itself, then what its author may have meant. */
function repairs(pattern: string): string[] {
  // `/^a$/i`, as it stands in a program.
  const bare = /^\/(\^.+\$)\/[a-z]*$/s.exec(pattern)?.[1] ?? pattern
  const plain = withoutNeedlessEscapes(bare)
  const hyphens = withHyphensEscaped(plain)
  return [bare, plain, hyphens, withBracesEscaped(hyphens)]
}

/** `\_`, `\:` and, outside of brackets, `\-` are errors under the `u` flag and mean the character itself. */
function withoutNeedlessEscapes(pattern: string): string {
  const plain = pattern.replace(/\\([^\w^$\\.*+?()[\]{}|/-]|_)/g, '$1')
  return plain.replace(/\[(?:\\.|[^\]\\])*\]|\\./gs, part => (part === '\\-' ? '-' : part))
}

/** A brace that begins no count means itself, which the `u` flag wants escaped. */
function withBracesEscaped(pattern: string): string {
  const parts = /\\[pPuk]\{[^}]*\}|\\[\s\S]|\[(?:\\.|[^\]\\])*\]|\{\d+(?:,\d*)?\}|[{}]/g
  return pattern.replace(parts, part => (part === '{' || part === '}' ? `\\${part}` : part))
}

/** In `[\w-.]` and `[a-z0-9-_]` the hyphen after a class or a range means itself, which the `u` flag wants escaped. */
function withHyphensEscaped(pattern: string): string {
  return pattern.replace(/\[((?:\\.|[^\]\\])*)\]/g, (_, inside: string) => `[${escapeHyphens(inside)}]`)
}

function escapeHyphens(inside: string): string {
  const tokens = inside.match(/\\p\{[^}]*\}|\\.|[\s\S]/gu) ?? []
  let out = ''
  // Whether the token before can begin a range: the end of one and a class cannot.
  let open = false
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!
    const next = tokens[i + 1]
    if (token === '-' && i > 0 && next !== undefined) {
      if (open && !isClass(next)) {
        out += `-${next}`
        i++
        open = false
      } else {
        out += '\\-'
        open = false
      }
    } else {
      out += token
      open = !isClass(token) && !(i === 0 && token === '^')
    }
  }
  return out
}

function isClass(token: string): boolean {
  return /^\\[wWdDsSpP]/.test(token)
}
