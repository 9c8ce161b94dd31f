/** Copies bytes into a buffer that is large enough. */

/** Fewer are copied one by one, in half the time of a call of `set`. */
const MIN_SET_BYTES = 64

/** @returns the place behind the bytes */
export function copyBytes(bytes: Uint8Array, into: Uint8Array, at: number): number {
  const { length } = bytes
  if (length >= MIN_SET_BYTES) into.set(bytes, at)
  else for (let read = 0; read < length; read++) into[at + read] = bytes[read]!
  return at + length
}
