/** Chooses the listener of this platform, and reports which listeners load and what they support. */
import type { Listener, ListenerOptions } from './listener.ts'
import { NodeListener } from './node/listener.ts'
import { UwsListener } from './uws/listener.ts'
import { loadNative } from './uws/native.ts'

export type ListenerKind = 'uws' | 'node'

/** Which listeners load here: `uwsBuild` names the native build of the fast one, `uwsMissing` says why there is none. */
export interface ListenerSupport {
  readonly kinds: readonly ListenerKind[]
  readonly uwsBuild: string | undefined
  readonly uwsMissing: string | undefined
}

/** Asks without opening anything. */
export function listenerSupport(): ListenerSupport {
  const loaded = loadNative()
  return 'native' in loaded
    ? { kinds: ['uws', 'node'], uwsBuild: loaded.build, uwsMissing: undefined }
    : { kinds: ['node'], uwsBuild: undefined, uwsMissing: loaded.reason }
}

/** Whether the parser verifies the framing of chunked bodies; the older native build does not. */
export function isStrictParser(kind: 'auto' | ListenerKind): boolean {
  if (kind === 'node') return true
  const loaded = loadNative()
  return !('native' in loaded) || loaded.isStrict
}

/** Whether several threads can listen on one port: uWS always can, node:http on Linux since Node 22.12 and 23.1 (`reusePort`). */
export function canSharePorts(kind: 'auto' | ListenerKind): boolean {
  if (kind !== 'node' && listenerSupport().kinds.includes('uws')) return true
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return (
    process.platform === 'linux' &&
    (major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12))
  )
}

/**
 * `auto` takes uWS where its native build loads, else node:http. A listener with TLS is node:http for every `kind`: it replaces a certificate
 * while it runs.
 * @throws Error when `uws` is demanded, without TLS, and its native build does not load: node:http does not take its place.
 */
export function createListener(kind: 'auto' | ListenerKind, options: ListenerOptions): Listener {
  if (kind === 'node' || options.tls !== undefined) return new NodeListener(options)
  const loaded = loadNative()
  if ('native' in loaded) return new UwsListener(loaded.native, options)
  if (kind === 'auto') return new NodeListener(options)
  throw new Error(
    `HTTP_SERVER=uws cannot be used on this system: ${loaded.reason}; set HTTP_SERVER=auto or node, or install a native build of uWebSockets.js for this platform`,
  )
}
