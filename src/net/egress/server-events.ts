/** Reads server-sent events from a body, each within a bound. */
import { StringDecoder } from 'node:string_decoder'

export interface ServerEvent {
  /** '' when the event has no name. */
  readonly name: string
  /** Lines joined; '' for an event that only carries an id, as MCP servers begin a stream. */
  readonly data: string
  /** Set by this event; undefined when it has none. */
  readonly id?: string | undefined
  /** Pause before the next connection that the server asks for, ms. */
  readonly retryMs?: number | undefined
}

export interface ServerEventOptions {
  readonly maxEventCharacters: number
  /** Called for every chunk: comments yield no event, but show that the other side is alive. */
  readonly onBytes?: () => void
}

/** Events with data (WHATWG HTML §9.2.5 and §9.2.6), in their order; lines end with LF, CRLF or CR. @throws Error when an event is longer than allowed */
export async function* serverEvents(
  body: AsyncIterable<Uint8Array>,
  { maxEventCharacters, onBytes }: ServerEventOptions,
): AsyncGenerator<ServerEvent, void, void> {
  const decoder = new StringDecoder('utf8')
  let isStart = true
  let endedWithCr = false
  let pieces: string[] = []
  let heldCharacters = 0
  let name = ''
  let data: string[] = []
  let id: string | undefined
  let retryMs: number | undefined
  for await (const chunk of body) {
    onBytes?.()
    let text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    if (text === '') continue
    if (isStart && text.startsWith('\uFEFF')) text = text.slice(1)
    isStart = false
    // the LF of a CRLF that was cut in two
    if (endedWithCr && text.startsWith('\n')) text = text.slice(1)
    endedWithCr = text.endsWith('\r')
    const lines = text.split(text.includes('\r') ? /\r\n|\n|\r/ : '\n')
    for (let at = 0; at < lines.length; at++) {
      pieces.push(lines[at]!)
      heldCharacters += lines[at]!.length
      if (heldCharacters > maxEventCharacters)
        throw new Error(`an event is longer than ${maxEventCharacters} characters`)
      if (at === lines.length - 1) break
      const line = pieces.join('')
      pieces = []
      if (line === '') {
        if (data.length > 0) yield { name, data: data.join('\n'), id, retryMs }
        name = ''
        data = []
        id = undefined
        retryMs = undefined
        heldCharacters = 0
        continue
      }
      const [field, value] = fieldOf(line)
      if (field === 'event') name = value
      else if (field === 'data') data.push(value)
      else if (field === 'id') id = value
      else if (field === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value)
    }
  }
}

/** Field and value; the field of a comment is ''. */
function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':')
  if (colon < 0) return [line, '']
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)]
}
