/** A fast hash of a text, for slots in a table of fixed size. It is not cryptographic. */

/** FNV-1a with a final mix, so that the low bits depend on the seed. */
export function hashText(text: string, seed: number): number {
  let value = seed ^ 0x811c9dc5
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  return (value ^ (value >>> 13)) >>> 0
}
