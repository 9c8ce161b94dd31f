/** Reads server-sent events (WHATWG HTML §9.2.6) from a body, one at a time. It connects to nothing and understands none. */
import { StringDecoder } from 'node:string_decoder'
import type { UpdateEvent } from '../update-events.ts'

/** One event holds a hundred tenants at most. */
const MAX_EVENT_CHARACTERS = 256 * 1024 * 1024

/**
 * Events with JSON data, in their order; comments count as a sign of life only.
 * @param onBytes called for whatever arrives
 * @throws Error when data is not JSON or an event has no end
 */
export async function* serverEvents(
  body: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<UpdateEvent, void, void> {
  const decoder = new StringDecoder('utf8')
  let pieces: string[] = []
  let held = 0
  let name = ''
  let data: string[] = []
  for await (const chunk of body) {
    onBytes()
    const lines = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)).split('\n')
    for (let at = 0; at < lines.length; at++) {
      pieces.push(lines[at]!)
      held += lines[at]!.length
      if (held > MAX_EVENT_CHARACTERS) throw new Error('an event is too long')
      if (at === lines.length - 1) break
      const line = pieces.join('').replace(/\r$/, '')
      pieces = []
      if (line === '') {
        if (data.length > 0) yield { name, data: JSON.parse(data.join('\n')) }
        name = ''
        data = []
        held = 0
      } else if (line.startsWith('event:')) name = line.slice(6).trim()
      else if (line.startsWith('data:')) data.push(line.slice(5))
    }
  }
}
