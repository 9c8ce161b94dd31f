/** Looks at the beginning of a text for a JSON object or list. */

/** Bounded: millions of blanks before it would be read for milliseconds. */
const MAX_BLANKS = 1_000
const CONTAINER = new RegExp(`^\\s{0,${MAX_BLANKS}}[[{]`)

/** Whether the text may be a JSON object or list; not behind more than 1,000 blanks. */
export function beginsAsContainer(text: string): boolean {
  return CONTAINER.test(text)
}
