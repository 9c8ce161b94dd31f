/** Writes a decoded header value as its UTF-8 bytes, a character for each. */

const BEYOND_ASCII = /[^\x00-\x7f]/

/** The UTF-8 bytes of a value that a listener has decoded, each written as a character, as clients and `Headers` take them. */
export function byteString(value: string): string {
  return BEYOND_ASCII.test(value) ? Buffer.from(value).toString('latin1') : value
}
