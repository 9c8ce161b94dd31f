/** Waits until a given node:http server listens, and closes it. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'

export interface PlainServer {
  readonly port: number
  /** Cuts open connections. */
  close(): Promise<void>
}

/** @param options port 0 takes a free one @throws Error with the code EADDRINUSE when the port is taken */
export async function openPlainServer(server: Server, options: ListenOptions): Promise<PlainServer> {
  server.listen(options)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
