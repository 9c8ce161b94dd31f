/** Identifiers: a prefix that names the kind, and a UUIDv7 in base32. */

export const ID_PREFIXES = {
  tenant: 'ten',
  api: 'api',
  subscription: 'sub',
  apiKey: 'key',
  plan: 'plan',
  consumer: 'con',
  gateway: 'gw',
  deployment: 'dep',
  event: 'evt',
  webhook: 'whk',
  delivery: 'dlv',
  audit: 'aud',
  mail: 'msg',
  product: 'prd',
} as const

export type IdKind = keyof typeof ID_PREFIXES

/** Crockford's alphabet in lower case: its order is the order of ASCII, and it has no i, l, o, u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const PATTERN = /^([a-z]{2,4})_[0-7][0-9a-hjkmnp-tv-z]{25}$/
const SEQUENCE_BITS = 12n

let lastMs = 0n
let sequence = 0n

/**
 * A fresh identifier such as `ten_01hzx…`: 26 characters after the prefix, of a UUIDv7 (RFC 9562 §5.7). Those of one process sort in the order of the calls,
 * also within one millisecond and when the clock steps back.
 */
export function newId(kind: IdKind, nowMs: number): string {
  const ms = BigInt(Math.trunc(nowMs))
  if (ms > lastMs) {
    lastMs = ms
    sequence = 0n
  } else if (++sequence >> SEQUENCE_BITS) {
    lastMs += 1n
    sequence = 0n
  }
  const random = crypto.getRandomValues(new BigUint64Array(1))[0]! & 0x3fffffffffffffffn
  const high = (lastMs << 16n) | 0x7000n | sequence
  return `${ID_PREFIXES[kind]}_${base32((high << 64n) | 0x8000000000000000n | random)}`
}

/** True when the text has the form of an identifier of this kind; says nothing about whether it exists. */
export function isId(kind: IdKind, text: string): boolean {
  return PATTERN.exec(text)?.[1] === ID_PREFIXES[kind]
}

function base32(value: bigint): string {
  let text = ''
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += ALPHABET[Number((value >> shift) & 31n)]
  return text
}
