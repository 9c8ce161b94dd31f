/** The body of a response to a command, over a real connection: bounded text, its JSON value, or the JSON-RPC response among events. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { exchange } from '../../../../src/app/cli/demo/exchange.ts'
import { ask } from '../../../../src/app/cli/doctor/ask.ts'
import { BodyTooLarge, readResponseBody, requestIdOf } from '../../../../src/app/cli/response-body.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
})

async function serving(type: string, write: (response: ServerResponse) => void): Promise<string> {
  server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': type })
    write(response)
  })
  await new Promise<void>(resolve => server!.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

const RESULT = { jsonrpc: '2.0', id: 7, result: { text: 'zwölf' } }
const REQUEST = { jsonrpc: '2.0', id: 7, method: 'tools/call' }
const event = (message: object): string => `event: message\r\ndata: ${JSON.stringify(message)}\r\n\r\n`
const EVENTS = [
  ': open\r\n\r\nid: 1\r\ndata:\r\n\r\n',
  event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }),
  event({ jsonrpc: '2.0', id: 7, method: 'ping' }),
  event({ jsonrpc: '2.0', id: 8, result: {} }),
  event(RESULT),
]

/** Piece by piece; the stream stays open afterwards. */
async function writeEvents(response: ServerResponse): Promise<void> {
  const bytes = Buffer.from(EVENTS.join(''))
  for (let at = 0; at < bytes.length; at += 11) {
    response.write(bytes.subarray(at, at + 11))
    await nextTurn()
  }
}

describe('an event stream', () => {
  it('gives the response to the request, whatever comes before it, to demo and doctor', async () => {
    const url = await serving('text/event-stream; charset=utf-8', response => void writeEvents(response))
    const { response: reply } = await exchange({ method: 'POST', url, headers: {}, body: REQUEST })
    expect(reply).toEqual(RESULT)
    expect((await ask(url, { body: REQUEST })).json).toEqual(RESULT)
  })

  it('gives the text when it ends without a response', async () => {
    const url = await serving('text/event-stream', response => response.end(EVENTS[1]))
    const { response: reply } = await exchange({ method: 'POST', url, headers: {}, body: REQUEST })
    expect(reply).toBe(EVENTS[1])
  })

  it('is bounded', async () => {
    const url = await serving('text/event-stream', response => {
      const more = (): void => {
        while (response.write(': nothing\n\n'.repeat(10_000)));
      }
      response.on('drain', more)
      more()
    })
    await expect(readResponseBody(await fetch(url), 7)).rejects.toThrow(BodyTooLarge)
  })
})

describe('any other response', () => {
  it('is read as text and as its JSON value', async () => {
    const url = await serving('application/json', response => response.end('{"a":1}'))
    expect(await readResponseBody(await fetch(url), undefined)).toEqual({
      isStream: false,
      text: '{"a":1}',
      json: { a: 1 },
    })
  })

  it('is bounded', async () => {
    const url = await serving('application/json', response => response.end(Buffer.alloc(5 * 1024 * 1024)))
    await expect(exchange({ method: 'GET', url, headers: {} })).rejects.toThrow(/larger than 4 MiB/)
  })
})

it('knows the id of a request, and that others have none', () => {
  expect(requestIdOf(REQUEST)).toBe(7)
  for (const body of [undefined, { id: 7 }, new URLSearchParams(), { jsonrpc: '2.0', method: 'x' }])
    expect(requestIdOf(body)).toBeUndefined()
})
