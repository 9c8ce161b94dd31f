/**
 * Finds and loads the native build of `uWebSockets.js`, and names the few native calls we make. It never falls
 * back: the package's own entry replaces a build that does not load by a JavaScript imitation, so the addon is
 * loaded without it.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** Only inside the request callback; it is stack memory of the parser. */
export interface NativeRequest {
  getUrl(): string
  getQuery(): string | null | undefined
  forEach(visit: (name: string, value: string) => void): void
}

/**
 * Until the response is complete, `close` is called or the abort callback has run; any call afterwards throws.
 */
export interface NativeResponse {
  writeStatus(status: string | Uint8Array): NativeResponse
  /** False: the system took less than all of it, and the rest is buffered natively. */
  write(chunk: string | Uint8Array): boolean
  /** `[everything taken, response complete]`; what is not taken is not buffered. */
  tryEnd(body: string | Uint8Array, totalBytes?: number): [boolean, boolean]
  end(body?: string | Uint8Array, closeConnection?: boolean): void
  endWithoutBody(): void
  close(): void
  cork(write: () => void): void
  onAborted(listener: () => void): void
  /** The chunk is detached when the callback returns. */
  onData(listener: (chunk: ArrayBuffer, last: boolean) => void): void
  onWritable(listener: (offset: number) => boolean): void
  getWriteOffset(): number
  getRemoteAddressAsText(): ArrayBuffer
  pause(): void
  resume(): void
}

type NativeRoute = (
  pattern: string,
  handler: (response: NativeResponse, request: NativeRequest) => void,
) => unknown

export interface NativeApp {
  get: NativeRoute
  head: NativeRoute
  post: NativeRoute
  put: NativeRoute
  patch: NativeRoute
  del: NativeRoute
  options: NativeRoute
  /** Every method without a separate route. */
  any: NativeRoute
  listen(host: string, port: number, options: number, done: (socket: unknown) => void): unknown
  /** Closes every connection and listening socket of the app. */
  close(): void
}

export interface NativeModule {
  App(): NativeApp
  us_listen_socket_close(socket: unknown): void
  us_socket_local_port(socket: unknown): number
  _cfg(key: string): void
}

type Loaded = { readonly native: NativeModule } | { readonly reason: string }

let loaded: Loaded | undefined

/** The native module, or in one sentence why this platform has none. Loaded once per thread. */
export function loadNative(): Loaded {
  loaded ??= load()
  return loaded
}

function load(): Loaded {
  const require = createRequire(import.meta.url)
  let folder: string
  try {
    folder = dirname(require.resolve('uWebSockets.js'))
  } catch {
    return { reason: 'the package uWebSockets.js is not installed' }
  }
  const file = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`
  // The republished build keeps its addons in binaries/ beside src/; the official package beside its entry.
  const path = [join(folder, '..', 'binaries', file), join(folder, file)].find(existsSync)
  if (path === undefined) {
    return {
      reason: `the installed uWebSockets.js has no native build ${file} (Node ${process.versions.node})`,
    }
  }
  try {
    const native = require(path) as NativeModule
    // Takes the `uWebSockets` header off every response.
    native._cfg('silent')
    return { native }
  } catch (error) {
    return {
      reason: `the native build ${file} does not load: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}
