/** Estimates from its bytes how long it takes to parse a JSON text. It does not check that they are JSON. */

/** Nanoseconds, measured with `JSON.parse`: a name that the text has not had before has to be stored and may change the form of its object. */
const COST = { newName: 600, knownName: 90, text: 40, object: 110, list: 30, item: 20 }
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Longer names count as new ones. With at most so many bytes no set of names has one hash under every multiplier. */
const MAX_HASHED = 64
const SLOTS = 4_096
/**
 * Secret: a caller who knew it could send many names that look like one. 5 modulo 8: powers of such a number repeat as late as possible
 * modulo 2^32, where those of one draw in a hundred of all odd numbers repeat so early that names collide.
 */
const MULTIPLIER = (Math.floor(Math.random() * 2 ** 29) << 3) | 5
const seen = new Int32Array(SLOTS)

/** A search for the next quote pays off from about so many bytes on. */
const STEP = 64

/** The closing quote after a place within a text, which no escape divides; the end when there is none. In one pass, whatever is escaped. */
function endOfText(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    const next = bytes.indexOf(QUOTE, at)
    if (next < 0) return bytes.length
    let slashes = 0
    while (next - 1 - slashes >= at && bytes[next - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return next
    // many escaped quotes are passed one by one
    const stop = Math.min(bytes.length, next + STEP)
    for (at = next + 1; at < stop && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++
    if (at < stop) return at
  }
}

/** Adds the hash of a name. Each has two slots: with one, two names of a record that share it would count as new ones in every record. */
function isKnown(hash: number): boolean {
  const slot = (hash ^ (hash >>> 15)) & (SLOTS - 2)
  if (seen[slot] === hash || seen[slot + 1] === hash) return true
  seen[slot + 1] = seen[slot]!
  seen[slot] = hash
  return false
}

/** @returns nanoseconds, as soon as they are above the limit */
export function parseCost(bytes: Uint8Array, limitNs: number): number {
  seen.fill(0)
  let cost = 0
  const end = bytes.length
  for (let at = 0; at < end && cost <= limitNs; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      const from = at + 1
      let hash = 1
      const hashed = Math.min(end, from + MAX_HASHED)
      for (at = from; at < hashed; at++) {
        const char = bytes[at]!
        if (char === QUOTE) break
        if (char === BACKSLASH) at++
        hash = Math.imul(hash, MULTIPLIER) + char
      }
      if (bytes[at] !== QUOTE || at > hashed) at = endOfText(bytes, at)
      // the colon may follow behind white space; then the name counts as a text and the colon as a new name
      if (bytes[at + 1] !== 0x3a) cost += COST.text
      else {
        cost += at - from <= MAX_HASHED && isKnown(hash) ? COST.knownName : COST.newName
        at++
      }
    } else if (byte === 0x2c) cost += COST.item
    else if (byte === 0x7b) cost += COST.object
    else if (byte === 0x5b) cost += COST.list
    else if (byte === 0x3a) cost += COST.newName
  }
  return cost
}
