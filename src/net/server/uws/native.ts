/** Finds, verifies and loads a native build of uWebSockets.js, and declares the native calls that this folder uses. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { NATIVE_BUILDS, type NativeBuild } from './builds.ts'

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

/** Above what the guard takes (8 KiB of URL, 16 KiB of headers), so that the guard decides and counts. */
const MAX_HEAD_BYTES = 28 * 1024

type Loaded =
  | { readonly native: NativeModule; readonly build: string; readonly isStrict: boolean }
  | { readonly reason: string }

let loaded: Loaded | undefined

/** The native module and the file it is from, or why this platform has none. Loaded once per thread. */
export function loadNative(): Loaded {
  loaded ??= loadFirst()
  return loaded
}

function loadFirst(): Loaded {
  const platform = `${process.platform}_${process.arch}_${process.versions.modules}`
  const reasons: string[] = []
  for (const build of NATIVE_BUILDS) {
    const result = loadBuild(build, platform)
    if ('native' in result) return result
    reasons.push(result.reason)
  }
  return { reason: reasons.join('; ') }
}

/**
 * Not by the entry of a package: one of them replaces a build that does not load by a JavaScript imitation.
 * @param platform `<platform>_<arch>_<ABI of Node>`
 */
export function loadBuild(build: NativeBuild, platform: string): Loaded {
  const name = build.package
  const digest = build.sha256[platform]
  if (digest === undefined)
    return { reason: `${name} has no build for ${platform} (it needs ${build.needs})` }
  const require = createRequire(import.meta.url)
  let path: string
  let content: Buffer
  try {
    path = join(dirname(require.resolve(name)), build.folder, `uws_${platform}.node`)
    content = readFileSync(path)
  } catch {
    return { reason: `${name} is not installed` }
  }
  if (createHash('sha256').update(content).digest('hex') !== digest)
    return {
      reason: `${path} does not have the expected SHA-256 digest, so it is not loaded; install ${name} again`,
    }
  // Read by the newer build when the process loads it first, which the main thread does; its own bound is 4 KiB.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= `${MAX_HEAD_BYTES}`
  try {
    const native = require(path) as NativeModule
    // Takes the `uWebSockets` header off every response.
    native._cfg('silent')
    return { native, build: `${name} ${platform}`, isStrict: build.isStrict }
  } catch (error) {
    const { message } = error instanceof Error ? error : new Error(String(error))
    return { reason: `${name} does not load: ${message.split('\n')[0]} (it needs ${build.needs})` }
  }
}
