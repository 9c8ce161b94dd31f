/** Cleans texts for agents: removes invisible characters and limits the length. It generates no text. */

/** Controls except tab and line feed; bidi, zero-width, tag and other format characters; default-ignorable characters; lone surrogates. */
const INVISIBLE =
  /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/gu

export const MAX_TOOL_DESCRIPTION = 2048
export const MAX_FIELD_DESCRIPTION = 600
export const MAX_TITLE = 120

/**
 * Visible text, at most `maxLength` UTF-16 units; longer text ends in `…`.
 * Returns '' without visible text.
 */
export function cleanText(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') return ''
  // Truncated before the expensive part.
  const source = value.length > maxLength * 4 ? value.slice(0, maxLength * 4) : value
  const clean = source
    .replace(/\r\n?/g, '\n')
    .replace(INVISIBLE, '')
    .replace(/[ \t]{2,}/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  if (clean.length <= maxLength) return clean
  let end = maxLength - 1
  const code = clean.charCodeAt(end - 1)
  if (code >= 0xd800 && code <= 0xdbff) end--
  return `${clean.slice(0, end).trimEnd()}…`
}

/** The first line or sentence, for titles. */
export function firstLine(value: string): string {
  return value.split('\n', 1)[0] ?? ''
}
