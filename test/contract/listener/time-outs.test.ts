/**
 * What is cut after 10 s (30 s in the newer build of uWS) without progress: a reader that stops, a body that does not arrive,
 * a head that never ends, an idle connection. Takes as long.
 */
import { expect, it } from 'vitest'
import { head, isStrictUws, onEachListener, openListener, RawClient, waitFor } from './kit.ts'

/** The newer build of uWS looks every 4 s for connections without progress for 30 s, the older one for 10 s. */
const WAIT_MS = isStrictUws ? 45_000 : 20_000

onEachListener('time-outs', kind => {
  it('cuts clients that make no progress and counts why', async () => {
    const aborted: string[] = []
    const body = Buffer.alloc(16 << 20)
    const { port, refused } = await openListener(kind, (request, response) => {
      response.onAbort(() => aborted.push(request.path))
      if (request.path === '/large') response.send(200, [], body)
      else if (request.path === '/stream') {
        const stream = response.stream(200, [])
        const push = (): void => {
          while (stream.write(body.subarray(0, 64 << 10)));
        }
        stream.onDrain(push)
        push()
      } else {
        request.readBody(
          1000,
          () => response.send(200, []),
          () => {},
        )
      }
    })
    const large = new RawClient(port).send(head('GET /large HTTP/1.1'))
    const stream = new RawClient(port).send(head('GET /stream HTTP/1.1'))
    for (const client of [large, stream]) client.socket.pause()
    const unfinished = new RawClient(port).send('GET / HTTP/1.1\r\nHost: a\r\n')
    const idle = new RawClient(port).send(head('GET /ready HTTP/1.1'))
    const trickle = new RawClient(port).send(head('POST /trickle HTTP/1.1', 'Content-Length: 9'))
    await waitFor(() => refused.filter(reason => reason === 'slow_reader').length === 2, WAIT_MS)
    await Promise.all([unfinished, idle].map(client => client.untilClosed(WAIT_MS)))
    await trickle.untilClosed(WAIT_MS)
    expect(refused).toContain('slow_sender')
    // A response already given is no longer the handler's to abort; a stream is.
    expect(aborted.sort()).toEqual(['/stream', '/trickle'])
  })
})
