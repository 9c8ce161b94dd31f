/** Cleans and shortens texts for agents, and compares a title with a name. */

/** Controls except tab and line feed; bidi, zero-width, tag and other format characters; default-ignorable characters; lone surrogates. */
export const INVISIBLE =
  /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cs}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/gu

export const MAX_TOOL_DESCRIPTION = 2048
/** For the description in the document: longer ones are mostly notes for people who read pages. An override may be longer. */
export const MAX_GENERATED_DESCRIPTION = 600
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

/** Elements of HTML that authors use in descriptions; other text in angle brackets, such as `<token>`, stays. */
const TAG =
  /<\/?(?:a|abbr|b|big|blockquote|br|caption|center|cite|code|dd|del|details|div|dl|dt|em|figure|font|footer|fullname|h[1-6]|header|hr|i|img|important|ins|kbd|li|mark|nav|note|ol|p|pre|q|s|samp|section|small|span|strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var)(?:\s[^<>]*)?\/?>/gi
/** Elements at which a line ends. */
const ENDS_LINE =
  /^<(?:br|hr|ul|ol|dl|table|pre|\/(?:p|li|tr|div|h[1-6]|ul|ol|dl|dd|table|pre|note|important|blockquote|section))\b/i
/** For Markdown. A model cannot open the page, and its address costs more tokens than the text. */
const LINK = /!?\[([^[\]]{0,200})\]\((?:https?:|\/|#)[^()\s]{0,500}\)/g
/** A sentence that only refers to a page whose address is left out. */
const POINTER =
  /(?<=^|[.!)]\s|\n)(?:For more (?:information|details)[^.\n]{0,40}, (?:see|refer to)|See|Learn more about) ["“][^"”\n]{0,200}["”]\.?(?=\s|$)|(?<=^|[.!)]\s|\n)For more (?:information|details)[^.\n]{0,40}, see [^."\n]{0,120}\.(?=\s|$)/g
const HEADING = /^#{1,6} (?=\S)/gm
/** Not the asterisks of a path pattern. */
const BOLD = /(?<![\w`/*])\*\*([^\s/*][^*\n]{0,300})\*\*(?![\w`/*])/g
const UNSEEN = /<!--[\s\S]*?-->|<(script|style)\b[^<>]*>[\s\S]*?<\/\1>/gi
const ENTITIES: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
}

/** A description without HTML: the text of its elements, one line for each block. */
export function plainText(value: unknown, maxLength: number): string {
  if (typeof value !== 'string' || !/[<&*#[]/.test(value)) return cleanText(value, maxLength)
  const source = value.slice(0, maxLength * 8)
  const text = source
    .replace(LINK, '$1')
    .replace(POINTER, '')
    .replace(HEADING, '')
    .replace(BOLD, '$1')
    .replace(UNSEEN, '')
    .replace(TAG, tag => (/^<li\b/i.test(tag) ? '- ' : ENDS_LINE.test(tag) ? '\n' : ''))
    .replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, entity)
  return cleanText(text, maxLength)
}

function entity(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? ENTITIES[name]! : whole
  const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
}

/** True when a title has the same letters and digits as a name: `Order ID` and `order_id`. */
export function repeats(title: unknown, name: string): boolean {
  return typeof title === 'string' && lettersOf(title) === lettersOf(name)
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

/** The first line, for titles. */
export function firstLine(value: string): string {
  return value.split('\n', 1)[0] ?? ''
}
