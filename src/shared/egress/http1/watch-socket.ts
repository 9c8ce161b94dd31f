/** Prepares the socket of a connection, and reports its end and the reason why it is closed. It writes nothing. */
import type { Socket } from 'node:net'
import { Http1Error } from './response-handler.ts'

/** @param onClosed receives the error of the socket, or that the peer has closed it */
export function watchSocket(socket: Socket, onEnd: () => void, onClosed: (reason: Error) => void): void {
  let failure: Error | undefined
  socket.setNoDelay(true)
  socket.on('error', error => {
    failure = error
  })
  socket.on('end', onEnd)
  socket.on('close', () =>
    onClosed(failure ?? new Http1Error('UND_ERR_SOCKET', 'the peer closed the connection')),
  )
}
