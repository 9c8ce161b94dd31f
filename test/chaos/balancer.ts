/** A TCP load balancer: each connection goes to the next server in turn that accepts it. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Balancer {
  readonly url: string
  close(): void
}

/** @param ports on loopback */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>()
  let turn = 0
  const server = createServer(near => {
    sockets.add(near)
    near.on('error', () => {})
    near.on('close', () => sockets.delete(near))
    forward(near, ports.length)
  })

  function forward(near: Socket, attempts: number): void {
    const far = connect(ports[turn++ % ports.length]!, '127.0.0.1')
    far.once('connect', () => {
      near.pipe(far).pipe(near)
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
    })
    far.on('error', () => {
      if (far.pending && attempts > 1) forward(near, attempts - 1)
      else near.destroy()
    })
  }

  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
