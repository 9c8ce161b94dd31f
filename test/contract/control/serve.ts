/** Serves a control plane for tests over node:http on a free port of the loopback interface, within this process. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { ControlPlane } from '../../../src/control-plane/api/control-plane.ts'

export interface Served {
  readonly url: string
  close(): Promise<void>
}

/** Passes each request to `fetch` and streams the response back. */
export async function serve(control: Pick<ControlPlane, 'fetch'>): Promise<Served> {
  const server = createServer((incoming, outgoing) => {
    // Fetch forbids them (WHATWG Fetch §2.2.1); the real listener refuses them as well.
    if (/^(TRACE|TRACK|CONNECT)$/.test(incoming.method!)) {
      outgoing.writeHead(405).end()
      return
    }
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    const headers = new Headers()
    for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
      headers.append(incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!)
    }
    const withBody =
      !/^(GET|HEAD)$/.test(incoming.method!) &&
      (incoming.headers['content-length'] !== undefined ||
        incoming.headers['transfer-encoding'] !== undefined)
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method!,
      headers,
      signal: gone.signal,
      ...(withBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' } : {}),
    } as RequestInit)
    void control.fetch(request).then(response => {
      outgoing.writeHead(response.status, [...response.headers].flat())
      if (response.body === null) outgoing.end()
      else
        Readable.fromWeb(response.body as never)
          .on('error', () => outgoing.destroy())
          .pipe(outgoing)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
