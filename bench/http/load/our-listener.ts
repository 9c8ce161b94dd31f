/** Our listener as the load runs start it, on a free port. It serves what its caller gives it. */
import { createListener } from '../../../src/net/server/create.ts'
import { DEFAULT_LISTENER_LIMITS, type HttpHandler } from '../../../src/net/server/listener.ts'

/** @returns the port */
export async function listenAlone(handler: HttpHandler): Promise<number> {
  const listener = createListener('uws', {
    host: '127.0.0.1',
    port: 0,
    limits: DEFAULT_LISTENER_LIMITS,
    allowChunkedRequests: false,
    sharePort: false,
    onRefused: reason => {
      throw new Error(`a load run sends only valid requests, yet one was refused: ${reason}`)
    },
    handler,
  })
  return (await listener.listen()).port
}
