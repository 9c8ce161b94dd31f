/** Opens TCP and TLS sockets of outgoing calls behind the address guard, and resolves host names. */

import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction, type OnReadOpts } from 'node:net'
import { bareHost } from '../../base/bare-host.ts'
import { type ClientTls, clientTlsOptions } from '../tls/client-tls.ts'
import { KnownPeer } from '../tls/known-peer.ts'
import type { AddressGuard } from './address-guard.ts'
import type { OpenSocket } from './http1/pool.ts'
import { buildConnector } from './undici.ts'

/** Resolves a host name to all its addresses. */
export type ResolveHost = (
  hostname: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void

export class BlockedAddressError extends Error {
  readonly code = 'ERR_BLOCKED_ADDRESS'
}

const resolving = new Map<string, Parameters<ResolveHost>[1][]>()

/** Requests for one name share a lookup: the thread pool of the process makes two at a time, and one that fails takes many seconds. */
export const resolveWithSystem: ResolveHost = (hostname, done) => {
  const waiting = resolving.get(hostname)
  if (waiting !== undefined) {
    waiting.push(done)
    return
  }
  const all = [done]
  resolving.set(hostname, all)
  systemLookup(hostname, { all: true }, (error, addresses) => {
    resolving.delete(hostname)
    for (const each of all) each(error, addresses ?? [])
  })
}

export interface ConnectorOptions {
  readonly guard: AddressGuard
  readonly resolveHost: ResolveHost
  readonly connectTimeoutMs: number
  /** undefined: the authorities that Node trusts, and no certificate of the client. */
  readonly tls?: ClientTls | KnownPeer | undefined
  /** Offers HTTP/2 to https peers. */
  readonly allowH2?: boolean
}

/**
 * A connector that checks before it connects, and again after. A literal is checked here because Node asks no resolver for it;
 * a name is resolved once per connection, and the socket gets exactly the addresses that were checked, so a second,
 * different DNS response cannot slip in between.
 */
export function guardedConnector(options: ConnectorOptions, onread?: OnReadOpts): buildConnector.connector {
  const lookup: LookupFunction = (hostname, lookupOptions, done) => {
    options.resolveHost(hostname, (error, addresses) => {
      if (error !== null) return done(error, [])
      if (addresses.length === 0) return done(new Error(`${hostname} has no IP address`), [])
      // One forbidden address condemns the name: an honest one has no reason to mix them.
      for (const { address } of addresses) {
        const refusal = options.guard.refusal(address, hostname)
        if (refusal !== undefined) return done(blocked(hostname, address, refusal), [])
      }
      if (lookupOptions.all === true) return done(null, [...addresses])
      done(null, addresses[0]!.address, addresses[0]!.family)
    })
  }
  const build = (): buildConnector.connector =>
    buildConnector({
      lookup,
      timeout: options.connectTimeoutMs,
      autoSelectFamily: true,
      allowH2: options.allowH2 === true,
      ...(options.tls instanceof KnownPeer
        ? options.tls.options()
        : options.tls && clientTlsOptions(options.tls)),
      ...(onread === undefined ? {} : { onread }),
    } as buildConnector.BuildOptions)
  // built for each connection, so that it has the present certificates
  const connect: buildConnector.connector =
    options.tls === undefined ? build() : (target, done) => build()(target, done)
  return behindGuard(options.guard, connect)
}

/**
 * All plain sockets of a thread read into it: what has arrived is taken out before the next read (`onread` of node:net runs at once).
 * It keeps an idle connection at a few hundred bytes instead of a buffer each.
 */
export const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** Plain sockets to one http origin behind the same guard. */
export function guardedSockets(origin: string, options: ConnectorOptions): OpenSocket {
  const { hostname, host, port, protocol } = new URL(origin)
  const target = {
    hostname: bareHost(hostname),
    host,
    port,
    protocol,
  }
  return (onBytes, done) =>
    guardedConnector(options, {
      buffer: READ_BUFFER,
      callback: (length, bytes) => onBytes(length, bytes as Buffer),
    })(target, (error, socket) => done(error, socket))
}

/** Checks literals before `connect` runs, and the peer of the socket it returns. */
export function behindGuard(
  guard: AddressGuard,
  connect: buildConnector.connector,
): buildConnector.connector {
  return (target, done) => {
    const { hostname } = target
    if (isIP(hostname) !== 0) {
      const refusal = guard.refusal(hostname, hostname)
      // Later, never within the call: the caller has not finished setting itself up.
      if (refusal !== undefined)
        return void process.nextTick(done, blocked(hostname, hostname, refusal), null)
    }
    connect(target, (error, socket) => {
      if (error !== null) return done(error, null)
      const peer = socket.remoteAddress
      if (peer === undefined) {
        socket.destroy()
        return done(closedEarly(hostname), null)
      }
      const refusal = guard.refusal(peer, hostname)
      if (refusal === undefined) return done(null, socket)
      socket.destroy()
      done(blocked(hostname, peer, refusal), null)
    })
  }
}

/** The peer has reset the connection before its address could be read. */
function closedEarly(hostname: string): Error {
  return Object.assign(new Error(`${hostname} closed the connection`), { code: 'ECONNRESET' })
}

function blocked(hostname: string, address: string, refusal: string): BlockedAddressError {
  const what = hostname === address ? hostname : `${hostname} (${address})`
  return new BlockedAddressError(
    `${what} is ${refusal}, which outgoing calls may not reach. To allow such calls, add the address to EGRESS_ALLOW.`,
  )
}
