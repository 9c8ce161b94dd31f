/** Splits a `multipart/*` response into its parts, and reads the boundary from its type. */

export interface ResponsePart {
  /** Media type without parameters, lower case; `text/plain` when the part names none (RFC 2046 §5.1). */
  readonly type: string
  /** `Content-Location` (RFC 2557 §4.2): the URI the part is a copy of; '' when absent. */
  readonly location: string
  /** A view into the response, not a copy. */
  readonly body: Uint8Array
}

/** More parts than a model would read. */
export const MAX_PARTS = 64
const MAX_HEADER_BYTES = 4096

/** @returns the boundary of a multipart media type; undefined when it names none that RFC 2046 allows. */
export function boundaryOf(contentType: string): string | undefined {
  const found = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType)
  return found?.[1] ?? found?.[2]
}

/** @returns the parts in order; undefined when the body is not well-formed or has none or too many of them. */
export function splitParts(body: Uint8Array, boundary: string): readonly ResponsePart[] | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  // the first delimiter may stand at the very start, without the line break that belongs to the others
  const atStart = bytes.indexOf(delimiter.subarray(2)) === 0
  let at = atStart ? delimiter.length - 2 : endOf(bytes, delimiter, 0)
  const parts: ResponsePart[] = []
  while (at !== undefined) {
    if (bytes.toString('latin1', at, at + 2) === '--') return parts.length === 0 ? undefined : parts
    const start = endOfLine(bytes, at)
    const end: number = start === undefined ? -1 : bytes.indexOf(delimiter, start - 2)
    if (start === undefined || end < 0 || parts.length === MAX_PARTS) return undefined
    const part = readPart(bytes.subarray(start, Math.max(start, end)))
    if (part === undefined) return undefined
    parts.push(part)
    at = end + delimiter.length
  }
  return undefined
}

function endOf(bytes: Buffer, delimiter: Buffer, from: number): number | undefined {
  const found = bytes.indexOf(delimiter, from)
  return found < 0 ? undefined : found + delimiter.length
}

/** Blanks may follow a delimiter (RFC 2046, `transport-padding`); anything else is another boundary. */
function endOfLine(bytes: Buffer, from: number): number | undefined {
  const end = bytes.indexOf('\r\n', from)
  return end < 0 || bytes.toString('latin1', from, Math.min(end, from + 80)).trim() !== ''
    ? undefined
    : end + 2
}

function readPart(bytes: Buffer): ResponsePart | undefined {
  const bare = bytes.indexOf('\r\n') === 0
  const end = bare ? 0 : bytes.indexOf('\r\n\r\n')
  if (end < 0 || end > MAX_HEADER_BYTES) return undefined
  const lines = bytes.toString('latin1', 0, end).split('\r\n')
  // a transfer encoding is mail's; HTTP has none, and undoing it half would show a model rubbish
  if (!/^(|7bit|8bit|binary)$/.test(value(lines, 'content-transfer-encoding').toLowerCase())) return undefined
  return {
    type: value(lines, 'content-type').split(';')[0]!.trim().toLowerCase() || 'text/plain',
    location: value(lines, 'content-location'),
    body: bytes.subarray(end + (bare ? 2 : 4)),
  }
}

function value(lines: readonly string[], name: string): string {
  const line = lines.find(one => one.slice(0, name.length + 1).toLowerCase() === `${name}:`)
  return line === undefined ? '' : line.slice(name.length + 1).trim()
}
