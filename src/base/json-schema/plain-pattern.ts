/** Recognizes a simple class of regular expressions that V8's engine runs in linear time. It does not compile them. */

/** One character: a class of one letter, an escaped sign, brackets, a plain sign, or any. */
const ATOM = /\\[dDwWsS]|\\[$()*+./?[\\\]^{|}-]|\[(?:\\[^pPuxck\d]|[^\]\\[])+\]|[^$()*+.?[\\\]^{|}]|\./uy
const COUNT = /\{(\d{1,4})(,\d{0,4})?\}|[*+?]/y
/** What stands behind the character that repeats is tried again at each step back: so many characters at most. */
const MAX_BEHIND = 16

/**
 * Whether the pattern begins with `^`, has neither groups nor alternatives, and repeats at most one of its characters a
 * varying number of times. A text of n characters then costs at most 16 n steps, where V8 could otherwise need n² or 2ⁿ.
 */
export function isPlainlyLinear(pattern: string): boolean {
  if (pattern[0] !== '^') return false
  const end = pattern.endsWith('$') && !pattern.endsWith('\\$') ? pattern.length - 1 : pattern.length
  let varies = false
  let behind = 0
  for (let at = 1; at < end; ) {
    ATOM.lastIndex = at
    if (!ATOM.test(pattern)) return false
    at = ATOM.lastIndex
    COUNT.lastIndex = at
    const count = COUNT.exec(pattern)
    if (count !== null) at = COUNT.lastIndex
    if (pattern[at] === '?') return false
    if (count === null || (count[1] !== undefined && count[2] === undefined))
      behind += Number(count?.[1] ?? 1)
    else if (varies) return false
    else {
      varies = true
      behind = 0
    }
  }
  return !varies || behind <= MAX_BEHIND
}
