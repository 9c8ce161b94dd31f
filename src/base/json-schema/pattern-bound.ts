/** Estimates from its text the largest program that the linear-time engine makes of a pattern. It does not compile the pattern. */
import { isPlainlyLinear } from './plain-pattern.ts'

/** The end of the program. */
const FRAME = 4
/** Beginning, end, and what stands for an empty one. */
const GROUP = 3
const ALTERNATIVE = 2
/** The engine counts to 1,000; a larger count becomes one without end. */
const MAX_COUNT = 1_000
const COUNT = /\{(\d+)(?:,(\d*))?\}/y
const ESCAPE = /\\(?:[pPux]\{[^}]*\}|k<[^>]*>|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])/y
const BRACKETS = /\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]/y
const GROUP_START = /\(\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]+:)/y

/** @returns instructions; 0 for a pattern that the linear-time engine does not run */
export function programBound(pattern: string): number {
  if (isPlainlyLinear(pattern)) return 0
  /** Instructions of the groups that are open. */
  const sums = [FRAME]
  /** For what a count would repeat. */
  let last = 0
  const add = (instructions: number): void => {
    sums[sums.length - 1]! += instructions
  }
  for (let at = 0; at < pattern.length; ) {
    const char = pattern[at]!
    const count = char === '{' ? matchAt(COUNT, pattern, at) : undefined
    if (count !== undefined) {
      const repeated = repeatedSize(last, Number(count[1]), count[2])
      add(repeated - last)
      last = repeated
      at += count[0].length
      continue
    }
    if (char === '*' || char === '+' || char === '?') {
      add(1)
      last++
      at++
      continue
    }
    if (char === '(') {
      sums.push(GROUP)
      last = 0
      at += matchAt(GROUP_START, pattern, at)?.[0].length ?? 1
      continue
    }
    if (char === ')' && sums.length > 1) {
      last = sums.pop()!
      add(last)
      at++
      continue
    }
    last = char === '|' ? ALTERNATIVE : 1
    add(last)
    const atom =
      char === '\\' ? matchAt(ESCAPE, pattern, at) : char === '[' ? matchAt(BRACKETS, pattern, at) : undefined
    at += atom?.[0].length ?? 1
  }
  return sums.reduce((total, sum) => total + sum, 0)
}

function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | undefined {
  expression.lastIndex = at
  return expression.exec(text) ?? undefined
}

/** Each repetition beyond the least is one more alternative. */
function repeatedSize(once: number, least: number, range: string | undefined): number {
  const most = range === undefined ? least : range === '' ? least + 1 : Number(range)
  const times = most > MAX_COUNT ? Math.min(least, MAX_COUNT) + 1 : most
  return (once + 1) * Math.max(times, 1) + 1
}
