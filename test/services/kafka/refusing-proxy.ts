/** A proxy before a Kafka broker that closes all connections, or responds to chosen produce requests with an error of the protocol. No assertions. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

const PRODUCE = 0
/** Up to the response of version 7: one topic without name, one partition (Kafka protocol, "Produce API"). */
const RESPONSE_BYTES = 52

export interface RefusingProxy {
  /** @returns code of the error for a produce request; undefined: the broker gets it */
  refuse: (request: Buffer) => number | undefined
  /** Connections are closed, those of now and later ones, until it is called with false. */
  setUnreachable(isUnreachable: boolean): void
  close(): Promise<void>
}

/** @param brokerPort known when the first client connects */
export async function startRefusingProxy(port: number, brokerPort: () => number): Promise<RefusingProxy> {
  const sockets = new Set<Socket>()
  let isClosing = false
  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const server = createServer(client => {
    if (isClosing) {
      client.destroy()
      return
    }
    const broker = connect(brokerPort(), '127.0.0.1')
    let read = Buffer.alloc(0)
    client.on('data', chunk => {
      read = Buffer.concat([read, chunk])
      while (read.length >= 4 && read.length >= 4 + read.readInt32BE(0)) {
        const request = read.subarray(0, 4 + read.readInt32BE(0))
        read = read.subarray(request.length)
        const code = request.readInt16BE(4) === PRODUCE ? proxy.refuse(request) : undefined
        if (code === undefined) broker.write(request)
        else client.write(refusal(request.readInt32BE(8), code))
      }
    })
    broker.on('data', chunk => client.write(chunk))
    for (const [one, other] of [
      [client, broker],
      [broker, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const proxy: RefusingProxy = {
    refuse: () => undefined,
    setUnreachable(isUnreachable) {
      isClosing = isUnreachable
      if (isUnreachable) closeAll()
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      closeAll()
      await closed
    },
  }
  return proxy
}

function refusal(correlationId: number, code: number): Buffer {
  const response = Buffer.alloc(RESPONSE_BYTES)
  response.writeInt32BE(RESPONSE_BYTES - 4, 0)
  response.writeInt32BE(correlationId, 4)
  response.writeInt32BE(1, 8)
  response.writeInt32BE(1, 14)
  response.writeInt16BE(code, 22)
  return response
}
