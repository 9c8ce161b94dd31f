/** HTTP servers on Unix sockets for the egress tests, a folder for the sockets, and the addresses that name them. Nothing is mocked. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface UnixBackend {
  readonly path: string
  readonly url: string
  readonly server: Server
  connections(): number
  close(): Promise<void>
}

export const unixUrl = (path: string): string => `http+unix://${encodeURIComponent(path)}`

/** A folder with a short path: the system bounds the length of the path of a socket. */
export function socketFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'tg-'))
  // other users may look for sockets in it
  chmodSync(path, 0o755)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export async function unixBackend(path: string, handler: RequestListener): Promise<UnixBackend> {
  const server = createServer(handler)
  let connections = 0
  server.on('connection', () => connections++)
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  return {
    path,
    url: unixUrl(path),
    server,
    connections: () => connections,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
