/** Escapes control and format characters in a text, so that a terminal shows it as one line. */

/**
 * @returns one line without control and format characters and line separators (Cc, Cf, Zl, Zp), which steer a terminal, reorder text or
 * are invisible: each is written as an escape of JSON
 */
export function shownText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')
}
