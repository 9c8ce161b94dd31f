/** The reader of server-sent events, fed with chunks cut at every place. What the events mean is up to others. */
import { describe, expect, it } from 'vitest'
import { type ServerEvent, serverEvents } from '../../../../src/net/egress/server-events.ts'

async function* chunksOf(text: string, size: number): AsyncGenerator<Uint8Array, void, void> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function eventsOf(text: string, size = 65_536, maxEventCharacters = 1_000): Promise<ServerEvent[]> {
  const events: ServerEvent[] = []
  for await (const event of serverEvents(chunksOf(text, size), { maxEventCharacters })) events.push(event)
  return events
}

const LINES = [
  '\uFEFF: a comment',
  '',
  'id: 1',
  'data:',
  '',
  'event: message',
  'data: {"a":',
  'data:  "ü→𝄞"}',
  'retry: 5',
  '',
  'event: without data',
  '',
  'data',
  'data:x',
  '',
  '',
  'data: cut off',
]
const EVENTS = [
  { name: '', data: '', id: '1' },
  { name: 'message', data: '{"a":\n "ü→𝄞"}', retryMs: 5 },
  { name: '', data: '\nx' },
]

describe.each([
  ['LF', '\n'],
  ['CRLF', '\r\n'],
  ['CR', '\r'],
])('lines that end with %s', (_, end) => {
  it.each([1, 2, 3, 7, 65_536])('give the same events in chunks of %i bytes', async size => {
    expect(await eventsOf(LINES.join(end), size)).toEqual(EVENTS)
  })
})

it('refuses an event without an end, and counts each event again', async () => {
  const short = `data: ${'x'.repeat(80)}\n\n`
  expect(await eventsOf(short.repeat(50), 64, 100)).toHaveLength(50)
  await expect(eventsOf(`data: ${'x'.repeat(200)}`, 64, 100)).rejects.toThrow(/longer than 100/)
  await expect(eventsOf('data: x\n'.repeat(50), 64, 100)).rejects.toThrow(/longer than 100/)
})

it('reports every chunk, comments too', async () => {
  let chunks = 0
  const onBytes = () => {
    chunks++
  }
  for await (const _ of serverEvents(chunksOf(': alive\n\n', 3), { maxEventCharacters: 100, onBytes }));
  expect(chunks).toBe(3)
})
