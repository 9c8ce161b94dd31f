/** Joins header lists into a new one. */

const NONE: readonly string[] = []

/**
 * Flat lists of names and values, one behind the other. The array has the right size from the start, where one that grows takes three, and
 * the loops stay in compiled code, where `concat` with several lists is a call of the runtime.
 */
export function joinedHeaders(
  first: readonly string[],
  second: readonly string[],
  third: readonly string[] = NONE,
): string[] {
  const all = new Array<string>(first.length + second.length + third.length)
  const at = put(all, 0, first)
  put(all, put(all, at, second), third)
  return all
}

/** By their length. */
const scratch: string[][] = []

/** For a list that is read before another one is built: its elements are to be set, and it is of no use later. */
export function scratchHeaders(length: number): string[] {
  scratch[length] ??= new Array<string>(length)
  return scratch[length]!
}

/** @returns the place behind the list */
export function put(all: string[], at: number, list: readonly string[]): number {
  for (let each = 0; each < list.length; each++) all[at + each] = list[each]!
  return at + list.length
}
