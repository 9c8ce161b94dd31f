/** Connections: pipelining, split heads, many at once, the port, aborts, draining and closing. */
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import type { HttpResponse } from '../../../src/net/server/listener.ts'
import { head, onEachListenerAndLot, openListener, pause, RawClient, waitFor } from './kit.ts'

onEachListenerAndLot('connections', kind => {
  it('responds to pipelined requests in order', async () => {
    const { port } = await openListener(kind, (request, response) => {
      request.readBody(
        100,
        body => response.send(200, [], `<${request.path} ${Buffer.from(body)}>`),
        () => {},
      )
    })
    const client = new RawClient(port)
    client.send(
      head('GET /1 HTTP/1.1') +
        head('POST /2 HTTP/1.1', 'Content-Length: 3') +
        'two' +
        head('GET /3 HTTP/1.1') +
        head('POST /4 HTTP/1.1', 'Content-Length: 4') +
        'four',
    )
    await client.until('/4 four>')
    expect(client.text.match(/<[^>]*>/g)).toEqual(['</1 >', '</2 two>', '</3 >', '</4 four>'])
  })

  it('closes or keeps order when a request is pipelined after one with a later response', async () => {
    const { port } = await openListener(kind, (request, response) => {
      if (request.path === '/later') setTimeout(() => response.send(200, [], 'later;'), 30)
      else response.send(200, [], 'sooner;')
    })
    const client = new RawClient(port).send(head('GET /later HTTP/1.1') + head('GET /sooner HTTP/1.1'))
    if (kind === 'uws') expect(await client.untilClosed()).toBe('')
    else expect((await client.until('sooner;')).match(/\w+;/g)).toEqual(['later;', 'sooner;'])
  })

  it('advertises a time for which an idle connection stays open, and keeps it', async () => {
    const { port } = await openListener(kind, (_, response) => response.send(200, [], 'here'))
    async function idle(): Promise<'kept' | 'closed early' | 'closed late'> {
      const client = new RawClient(port)
      const askedAtMs = performance.now()
      client.send(head('GET / HTTP/1.1'))
      const [, seconds] = /\r\nkeep-alive: timeout=(\d+)\r\n/i.exec(await client.until('here'))!
      const endsAtMs = askedAtMs + Number(seconds) * 1000
      await Promise.race([pause(endsAtMs - performance.now() - 500), client.whenClosed])
      if (!client.closed) client.send(head('GET / HTTP/1.1'))
      await waitFor(() => client.closed || client.text.split('here').length === 3)
      if (!client.closed) return 'kept'
      return performance.now() < endsAtMs ? 'closed early' : 'closed late'
    }
    let outcome = await idle()
    // a machine that stalls sends the second request after the advertised time
    for (let retries = 3; outcome === 'closed late' && retries > 0; retries--) outcome = await idle()
    expect(outcome).toBe('kept')
  }, 60_000)

  it('reads a head that arrives one byte at a time', async () => {
    const { port } = await openListener(kind, (request, response) =>
      response.send(200, [], `<${request.path}?${request.query}>`),
    )
    const client = new RawClient(port)
    for (const byte of head('GET /split?here=1 HTTP/1.1', 'X-A: b')) {
      client.send(byte)
      await pause(1)
    }
    await client.until('</split?here=1>')
  })

  it('reads a head that is split at every third place', async () => {
    const { port } = await openListener(kind, (request, response) =>
      response.send(200, [], `<${request.path}>`),
    )
    const text = head('GET /line HTTP/1.1')
    for (let at = 1; at < text.length; at += 3) {
      const client = new RawClient(port).send(text.slice(0, at))
      await pause(3)
      client.send(text.slice(at))
      await client.until('</line>')
      client.socket.destroy()
    }
  })

  it('serves 1,000 connections at once', async () => {
    const waiting: HttpResponse[] = []
    const { port } = await openListener(kind, (_request, response) => {
      waiting.push(response)
      if (waiting.length === 1000) for (const one of waiting) one.send(200, [], 'all here')
    })
    const agent = new Agent({ maxSockets: 1000 })
    const answers = await Promise.all(
      Array.from(
        { length: 1000 },
        () =>
          new Promise<number>((resolve, reject) => {
            get({ port, host: '127.0.0.1', agent }, reply => {
              reply.resume()
              reply.on('end', () => resolve(reply.statusCode ?? 0))
            }).on('error', reject)
          }),
      ),
    )
    agent.destroy()
    expect(answers.every(status => status === 200)).toBe(true)
  })

  it('keeps its memory flat over 30,000 requests', async () => {
    const { port } = await openListener(kind, (request, response) => {
      request.readBody(
        10_000,
        body => response.send(200, ['content-type', 'application/octet-stream'], body),
        () => {},
      )
    })
    const clients = Array.from({ length: 10 }, () => new RawClient(port))
    const request = Buffer.from(`${head('POST / HTTP/1.1', 'Content-Length: 1000')}${'x'.repeat(1000)}`)
    let responded = 0
    const run = (client: RawClient, count: number): Promise<void> =>
      new Promise(resolve => {
        client.keep = false
        let left = count
        let bytes = 0
        const onData = (chunk: Buffer): void => {
          bytes += chunk.length
          // Each response is its 1,000 bytes and a head of the same length for all.
          if (chunk[chunk.length - 1] !== 0x78 || bytes < 1000) return
          bytes = 0
          responded++
          if (--left > 0) client.socket.write(request)
          else {
            client.socket.off('data', onData)
            resolve()
          }
        }
        client.socket.on('data', onData)
        client.socket.write(request)
      })
    await Promise.all(clients.map(client => run(client, 1_000)))
    const before = await settledHeap()
    // what leaks grows in each round; the young generation and the allocator grow once, in one of them
    const residents = [process.memoryUsage.rss()]
    let grown = 0
    for (let round = 0; round < 3; round++) {
      await Promise.all(clients.map(client => run(client, 1_000)))
      grown = (await settledHeap()) - before
      residents.push(process.memoryUsage.rss())
    }
    const growths = residents.slice(1).map((bytes, round) => bytes - residents[round]!)
    expect(responded).toBe(40_000)
    expect(grown).toBeLessThan(4 << 20)
    expect(Math.min(...growths)).toBeLessThan(8 << 20)
  })

  it('takes its port for itself, and says what to change when it is taken', async () => {
    const first = await openListener(kind, (_request, response) => response.send(200, [], 'first'))
    const second = openListener(kind, (_request, response) => response.send(200, [], 'second'), {
      port: first.port,
    })
    await expect(second).rejects.toThrow(new RegExp(`127\\.0\\.0\\.1:${first.port}.*GATEWAY_PORT.*API_PORT`))
    const sharing = openListener(kind, (_request, response) => response.send(200, []), {
      port: first.port,
      sharePort: true,
    })
    await expect(sharing).rejects.toThrow(/cannot listen/)
    for (let n = 0; n < 5; n++) expect(await (await fetch(first.url)).text()).toBe('first')
  })

  if (kind === 'uws') {
    it('shares its port between worker threads', async () => {
      const start = async (port: number): Promise<{ readonly worker: Worker; readonly port: number }> => {
        const worker = new Worker(new URL('sharing-thread.mjs', import.meta.url), { workerData: port })
        const [taken] = (await once(worker, 'message')) as [{ readonly port: number }]
        return { worker, port: taken.port }
      }
      const first = await start(0)
      const second = await start(first.port)
      const seen = new Set<string>()
      for (let n = 0; n < 200 && seen.size < 2; n++) {
        const client = new RawClient(first.port).send(head('GET / HTTP/1.1'))
        seen.add(/thread \d+;/.exec(await client.until(/thread \d+;/))![0])
        client.socket.destroy()
      }
      expect(seen.size).toBe(2)
      // A thread that dies of an error must not take the process along, which open native handles would.
      first.worker.postMessage('throw')
      const [error] = (await once(first.worker, 'error')) as [Error]
      expect(error.message).toBe('a bug in the thread')
      await new RawClient(first.port).send(head('GET / HTTP/1.1')).until('thread')
      second.worker.postMessage('close')
      expect(await once(second.worker, 'exit')).toEqual([0])
    })

    it('shares its port where both sides want it', async () => {
      const respond = (text: string) => (_request: unknown, response: HttpResponse) =>
        response.send(200, [], text)
      const first = await openListener(kind, respond('first'), { sharePort: true })
      const second = await openListener(kind, respond('second'), { sharePort: true, port: first.port })
      expect(second.port).toBe(first.port)
      const seen = new Set<string>()
      for (let n = 0; n < 200 && seen.size < 2; n++) {
        const client = new RawClient(first.port).send(head('GET / HTTP/1.1'))
        await client.until(/first|second/)
        seen.add(/first|second/.exec(client.text)![0])
        client.socket.destroy()
      }
      expect(seen).toEqual(new Set(['first', 'second']))
    })
  }

  it('gives the address of an IPv4 peer as IPv4 on a dual-stack socket, and IPv6 in its short form', async ({
    skip,
  }) => {
    const opening = openListener(kind, (request, response) => response.send(200, [], request.peerAddress), {
      host: '::',
    })
    const open = await opening.catch(() => undefined)
    if (open === undefined) return skip('this machine has no IPv6')
    expect(await (await fetch(`http://127.0.0.1:${open.port}/`)).text()).toBe('127.0.0.1')
    expect(await (await fetch(`http://[::1]:${open.port}/`)).text()).toBe('::1')
  })

  it('stops the work of a request whose client has gone', async () => {
    let worked = 0
    let aborted = 0
    const { port } = await openListener(kind, (_request, response) => {
      const timer = setInterval(() => worked++, 5)
      response.onAbort(() => {
        aborted++
        clearInterval(timer)
      })
    })
    const client = new RawClient(port).send(head('GET / HTTP/1.1'))
    await waitFor(() => worked > 2)
    client.socket.destroy()
    await waitFor(() => aborted === 1)
    const then = worked
    await pause(50)
    expect(worked).toBe(then)
    expect(aborted).toBe(1)
  })

  it('runs an abort listener at once when the client has gone already', async () => {
    let late = false
    let kept: HttpResponse | undefined
    const { port } = await openListener(kind, (_request, response) => {
      kept = response
    })
    const client = new RawClient(port).send(head('GET / HTTP/1.1'))
    await waitFor(() => kept !== undefined)
    client.socket.destroy()
    await waitFor(() => kept!.closed)
    kept!.onAbort(() => {
      late = true
    })
    expect(late).toBe(true)
  })

  it('closes a connection the handler destroys', async () => {
    const { port } = await openListener(kind, (_request, response) => response.destroy())
    expect(await new RawClient(port).send(head('GET / HTTP/1.1')).untilClosed()).toBe('')
  })

  it('drains: takes no new connection, finishes what runs, asks clients to close, and ends the rest', async () => {
    const pending: HttpResponse[] = []
    const aborted: string[] = []
    const { port, listener } = await openListener(kind, (request, response) => {
      response.onAbort(() => aborted.push(request.path))
      if (request.path === '/now') response.send(200, [], 'now')
      else pending.push(response)
    })
    const idle = new RawClient(port).send(head('GET /now HTTP/1.1'))
    await idle.until('now')
    const busy = new RawClient(port).send(head('GET /busy HTTP/1.1'))
    const stuck = new RawClient(port).send(head('GET /stuck HTTP/1.1'))
    await waitFor(() => pending.length === 2)
    listener.stopAccepting()
    const refused = new RawClient(port).send(head('GET /now HTTP/1.1'))
    expect(await refused.untilClosed()).toBe('')
    pending[0]!.send(200, [], 'finished')
    expect((await busy.until('finished')).toLowerCase()).toContain('connection: close')
    expect(aborted).toEqual([])
    await listener.close()
    await Promise.all([idle.untilClosed(), busy.untilClosed(), stuck.untilClosed()])
    expect(aborted).toEqual(['/stuck'])
    await listener.close()
  })

  it('does not open its port again after it has stopped to accept', async () => {
    const { port, listener } = await openListener(kind, (_, response) => response.send(200, [], 'now'))
    listener.stopAccepting()
    await expect(listener.listen()).rejects.toThrow('the listener is closed')
    expect(await new RawClient(port).send(head('GET /now HTTP/1.1')).untilClosed()).toBe('')
    await listener.close()
    await expect(listener.listen()).rejects.toThrow('the listener is closed')
    expect(await new RawClient(port).send(head('GET /now HTTP/1.1')).untilClosed()).toBe('')
  })
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Twice, because buffers are given back by finalizers that run after the first. */
async function settledHeap(): Promise<number> {
  collectGarbage()
  await pause(50)
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
