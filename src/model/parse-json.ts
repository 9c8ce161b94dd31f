/** Parses JSON of which nothing is known yet. It checks no form. */

/** The value; undefined when the text, or the UTF-8 bytes, are not JSON. */
export function parseJson(json: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof json === 'string' ? json : new TextDecoder().decode(json))
  } catch {
    return undefined
  }
}
