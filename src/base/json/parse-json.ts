/** Parses text or bytes that may be JSON. It does not check the form of the value. */

/** The value; undefined when the text, or the UTF-8 bytes, are not JSON. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === 'string' ? json : new TextDecoder().decode(json))
  } catch {
    return undefined
  }
}
