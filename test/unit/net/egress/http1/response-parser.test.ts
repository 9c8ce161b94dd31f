/** Our reader of responses beside Node's own: what it takes, Node reads the same; it takes what honest servers send; what it passes on of one read. */
import { request as nodeRequest } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ResponseHead } from '../../../../../src/net/egress/http1/response-head.ts'
import { ResponseParser } from '../../../../../src/net/egress/http1/response-parser.ts'

const CASES = process.env.SOAK === '1' ? 200_000 : 4000

interface Read {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: string
}

/** Reads the pieces as one response; undefined when it is refused or incomplete. */
function readOurs(pieces: readonly Buffer[], method = 'GET'): (Read & { readonly used: number }) | undefined {
  let head: ResponseHead | undefined
  const chunks: Uint8Array[] = []
  const parser = new ResponseParser({
    head: one => {
      head = one
    },
    data: chunk => void chunks.push(chunk),
  })
  parser.begin(method)
  let used = 0
  // every piece arrives in the same buffer, as it does from a socket
  const shared = Buffer.alloc(Math.max(1, ...pieces.map(piece => piece.length)))
  try {
    for (const piece of pieces) {
      if (parser.done) break
      piece.copy(shared)
      used += parser.feed(shared, piece.length)
    }
    parser.close()
  } catch {
    return undefined
  }
  return { status: head!.status, headers: head!.raw, body: Buffer.concat(chunks).toString('latin1'), used }
}

function readNode(bytes: Buffer, method = 'GET'): Promise<Read | undefined> {
  return new Promise(resolve => {
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    const asked = nodeRequest({ method, createConnection: () => socket as never }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', () => resolve(undefined))
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          headers: response.rawHeaders.map((text, at) => (at % 2 === 0 ? text.toLowerCase() : text)),
          body: Buffer.concat(chunks).toString('latin1'),
        }),
      )
    })
    asked.on('error', () => resolve(undefined))
    asked.on('upgrade', () => resolve(undefined))
    // Node's parser takes the socket over a tick after the event
    asked.on('socket', () =>
      setImmediate(() => {
        socket.push(bytes)
        socket.push(null)
      }),
    )
    asked.end()
  })
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const marks = [...new Set([0, ...at.map(one => one % (bytes.length + 1)), bytes.length])].sort(
    (a, b) => a - b,
  )
  return marks.slice(1).map((end, index) => bytes.subarray(marks[index]!, end))
}

const RESPONSES = [
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n{"id":"P-100"}'.slice(
    0,
    -1,
  ),
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n5\r\nhello\r\n6;ext="x"\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n',
  'HTTP/1.1 204 No Content\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n',
  'HTTP/1.0 200 OK\r\nServer: old\r\n\r\nuntil the end',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno',
  'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 5\r\n\r\n',
  'HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX-Latin: \xe9\xff\r\nX-Empty:\r\nX-Tab: a\tb \r\nContent-Length:  3 \r\n\r\nabc',
]
const SNIPPETS = [
  '\r\n', '\n', '\r', '\0', ' ', '\t', ':', ';', ',', '0', '1', 'f', '-1', '+5', '0x5', 'chunked', 'Chunked', 'gzip, chunked',
  'Content-Length: 5\r\n', 'Content-Length: 3\r\n', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: identity\r\n',
  'Transfer-Encoding : chunked\r\n', 'Connection: close\r\n', ' folded\r\n', '\r\n\r\n', 'HTTP/1.1 200 OK\r\n', 'HTTP/2 200\r\n', '\xa0', '\x7f', '99999999999999999999',
] // biome-ignore format: a table reads better unbroken

const mutation = fc.record({
  at: fc.nat(),
  remove: fc.nat(6),
  insert: fc.oneof(fc.constantFrom(...SNIPPETS), fc.constant(''), fc.string({ maxLength: 2 })),
})
const mutated = fc
  .tuple(
    fc.constantFrom(...RESPONSES),
    fc.array(mutation, { maxLength: 3 }),
    fc.array(fc.nat(), { maxLength: 5 }),
  )
  .map(([response, mutations, cuts]) => {
    let text = response
    for (const { at, remove, insert } of mutations) {
      const from = at % (text.length + 1)
      text = text.slice(0, from) + insert + text.slice(from + remove)
    }
    return { bytes: Buffer.from(text, 'latin1'), cuts }
  })

describe('a response over HTTP/1.1', () => {
  test.each(RESPONSES)('is read as Node reads it, in whatever pieces it comes: %j', async response => {
    const bytes = Buffer.from(response, 'latin1')
    const expected = await readNode(bytes)
    expect(expected).toBeDefined()
    expect(readOurs([bytes])).toMatchObject(expected!)
    for (let at = 1; at < bytes.length; at++) expect(readOurs(cut(bytes, [at]))).toMatchObject(expected!)
    expect(readOurs([...bytes].map(byte => Buffer.of(byte)))).toMatchObject(expected!)
  })

  test(`is never taken for what Node would not read it as (${CASES} damaged responses)`, async () => {
    let taken = 0
    await fc.assert(
      fc.asyncProperty(mutated, fc.constantFrom('GET', 'HEAD'), async ({ bytes, cuts }, method) => {
        const ours = readOurs(cut(bytes, cuts), method)
        if (ours === undefined) return
        taken++
        // what follows the response belongs to none, and closes the connection
        const { used, ...read } = ours
        expect(await readNode(bytes.subarray(0, used), method)).toEqual(read)
      }),
      { numRuns: CASES },
    )
    expect(taken).toBeGreaterThan(CASES / 10)
  }, 600_000)

  test.each([
    ['a second length', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na'],
    [
      'a length beside chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['a coding that is not chunked', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 0\r\n\r\n'],
    ['a bare line feed', 'HTTP/1.1 200 OK\nContent-Length: 0\n\n'],
    ['a space before the colon', 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n'],
    ['a signed length', 'HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na'],
    ['a hexadecimal prefix', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n'],
    [
      'a chunk longer than it says',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n',
    ],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
    ['a version that is not 1.x', 'HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(17_000)}`],
    ['too many headers', `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(300)}Content-Length: 0\r\n\r\n`],
    ['hints without end', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(40)],
    ['a chunk line without end', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(400)}`],
    [
      'trailers without end',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${'a: b\r\n'.repeat(3000)}`,
    ],
  ])('is refused when it holds %s', (_, response) => {
    expect(readOurs([Buffer.from(response, 'latin1')])).toBeUndefined()
  })
})

describe('the content of one read', () => {
  const passed = (text: string, sizes: readonly number[]): string[] => {
    const contents: Uint8Array[] = []
    const parser = new ResponseParser({ head() {}, data: content => void contents.push(content) })
    parser.begin('GET')
    const bytes = Buffer.from(text, 'latin1')
    // every read arrives in the same buffer, as it does from a socket
    const shared = Buffer.alloc(64 * 1024)
    let at = 0
    for (const size of sizes) {
      bytes.copy(shared, 0, at, at + size)
      at += size
      try {
        parser.feed(shared, size)
      } catch {
        contents.push(Buffer.from('refused'))
      }
    }
    shared.fill(0)
    return contents.map(content => Buffer.from(content).toString('latin1'))
  }
  const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

  test('is passed on at once, of however many chunks it consists', () => {
    const chunks = Array.from({ length: 9_000 }, (_, at) => `1\r\n${at % 10}\r\n`).join('')
    const text = `${HEAD}${chunks}0\r\n\r\n`
    const digits = Array.from({ length: 9_000 }, (_, at) => at % 10).join('')
    expect(passed(text, [text.length])).toEqual([digits])
    expect(passed(text, [HEAD.length, 6, 12, text.length - HEAD.length - 18])).toEqual([
      '0',
      '12',
      digits.slice(3),
    ])
  })

  test('is passed on before what is not valid after it', () => {
    const text = `${HEAD}1\r\na\r\n2\r\nbc\r\nnonsense\r\n`
    expect(passed(text, [text.length])).toEqual(['abc', 'refused'])
  })

  test('of a read without content is nothing', () => {
    expect(passed(HEAD, [20, HEAD.length - 20])).toEqual([])
  })
})
