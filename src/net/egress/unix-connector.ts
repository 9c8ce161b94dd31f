/** Opens the sockets of outgoing calls to Unix sockets that the operator lists. */
import { realpath } from 'node:fs'
import type { OnReadOpts } from 'node:net'
import { socketPathFault } from '../../model/upstream-url.ts'
import type { AddressGuard } from './address-guard.ts'
import { BlockedAddressError, type ConnectorOptions, READ_BUFFER } from './connector.ts'
import type { OpenSocket } from './http1/pool.ts'
import { buildConnector } from './undici.ts'

/** A server whose queue of connections is full refuses at once, where TCP would wait. */
const FULL_PAUSE_MS = 10

type UnixOptions = Pick<ConnectorOptions, 'guard' | 'connectTimeoutMs'>

/**
 * A connector for one socket. The path is checked as written, so that outcomes do not show which files exist elsewhere, and then as
 * the file system resolves it, so that no symbolic link leads out of what is listed. The socket is opened by its resolved path.
 */
export function unixConnector(
  socketPath: string,
  { guard, connectTimeoutMs }: UnixOptions,
  onread?: OnReadOpts,
): buildConnector.connector {
  return (target, done) => {
    const refused = refusal(guard, socketPath, socketPath)
    // Later, never within the call: the caller has not finished setting itself up.
    if (refused !== undefined) return void process.nextTick(done, refused, null)
    realpath.native(socketPath, (error, resolved) => {
      const fault = error ?? refusal(guard, socketPath, resolved)
      if (fault !== undefined) return done(fault, null)
      const endsAt = performance.now() + connectTimeoutMs
      const connect = (timeout: number): void =>
        buildConnector({
          socketPath: resolved,
          timeout,
          keepAlive: false,
          ...(onread === undefined ? {} : { onread }),
        } as buildConnector.BuildOptions)(target, (...[failed, socket]) => {
          if (failed === null) return done(null, socket)
          const leftMs = endsAt - performance.now() - FULL_PAUSE_MS
          if ((failed as NodeJS.ErrnoException).code !== 'EAGAIN' || leftMs < 1) return done(failed, null)
          setTimeout(connect, FULL_PAUSE_MS, Math.floor(leftMs))
        })
      connect(connectTimeoutMs)
    })
  }
}

/** Sockets to one Unix socket behind the same guard. */
export function unixSockets(socketPath: string, options: UnixOptions): OpenSocket {
  const target = { hostname: 'localhost', host: 'localhost', port: '', protocol: 'http:' }
  return (onBytes, done) =>
    unixConnector(socketPath, options, {
      buffer: READ_BUFFER,
      callback: (length, bytes) => onBytes(length, bytes as Buffer),
    })(target, (error, socket) => done(error, socket))
}

function refusal(guard: AddressGuard, written: string, path: string): BlockedAddressError | undefined {
  const fault = socketPathFault(path)
  const leads = written === path ? path : `${written} leads to ${path}, which`
  // the system would cut a longer path off
  if (fault !== undefined) return new BlockedAddressError(`${leads} cannot be reached: the path ${fault}.`)
  if (guard.allowsSocket(path)) return undefined
  return new BlockedAddressError(
    `${leads} is not listed in EGRESS_ALLOW. Add unix:${path} to EGRESS_ALLOW to allow calls to this Unix socket.`,
  )
}
