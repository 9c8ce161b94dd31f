/** A bound of the time that parsing a JSON text takes, from one look at its bytes. It does not check that they are JSON. */

/** Nanoseconds, measured with `JSON.parse`: a name that the text has not had before has to be stored and may change the form of its object. */
const COST = { newName: 600, knownName: 90, text: 40, object: 110, list: 30, item: 20 }
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Longer names count as new ones. With at most so many bytes no set of names has one hash under every multiplier. */
const MAX_HASHED = 64
const SLOTS = 4_096
/** Odd and secret: a caller who knew it could send many names that look like one. */
const MULTIPLIER = (Math.floor(Math.random() * 2 ** 31) << 1) | 1
const seen = new Int32Array(SLOTS)

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
      for (at = from; at < end; at++) {
        const char = bytes[at]!
        if (char === QUOTE) break
        if (char === BACKSLASH) at++
        hash = Math.imul(hash, MULTIPLIER) + char
      }
      // the colon may follow behind white space; then the name counts as a text and the colon as a new name
      if (bytes[at + 1] !== 0x3a) cost += COST.text
      else {
        const mixed = hash ^ (hash >>> 15)
        const isKnown = at - from <= MAX_HASHED && seen[mixed & (SLOTS - 1)] === hash
        seen[mixed & (SLOTS - 1)] = hash
        cost += isKnown ? COST.knownName : COST.newName
        at++
      }
    } else if (byte === 0x2c) cost += COST.item
    else if (byte === 0x7b) cost += COST.object
    else if (byte === 0x5b) cost += COST.list
    else if (byte === 0x3a) cost += COST.newName
  }
  return cost
}
