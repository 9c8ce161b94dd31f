/** Reads the built files of console and portal, and serves them from memory. No path of a request reaches the disk. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** Where `npm run build:console` writes; the same from `src` and from `dist`. */
export const BUILT_FILES = new URL('../../dist/console/static/', import.meta.url)

/** All files together; a larger build is a mistake. */
const MAX_TOTAL_BYTES = 8 * 1024 * 1024

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  woff2: 'font/woff2',
}

/** Everything but images in data URLs comes from this origin; styles are set through the DOM, so that none needs to be inline. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const PAGE_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

interface BuiltFile {
  readonly body: Uint8Array<ArrayBuffer>
  /** Compressed when first requested: at the start it would take longer than reading all files. */
  readonly serveCompressed: () => Uint8Array<ArrayBuffer>
  readonly type: string
  readonly etag: string
}

export class ConsoleFiles {
  readonly #files = new Map<string, BuiltFile>()
  readonly #page: string | undefined
  /** The page by its base: one for each depth, which is bounded by the addresses of pages. */
  readonly #pages = new Map<string, BuiltFile>()

  /**
   * @param page its file
   * @param prepare changes its text
   * @throws Error of the file system, and when the files are larger than the bound
   */
  constructor(page: string, prepare = (html: string): string => html, folder: URL = BUILT_FILES) {
    const root = fileURLToPath(folder)
    if (!existsSync(root)) return
    let total = 0
    for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
      const type = TYPES[path.slice(path.lastIndexOf('.') + 1)]
      if (type === undefined || !statSync(root + path).isFile()) continue
      const body = new Uint8Array(readFileSync(root + path))
      total += body.byteLength
      if (total > MAX_TOTAL_BYTES)
        throw new Error(`${root} contains more than ${MAX_TOTAL_BYTES} bytes. Run npm run build:console.`)
      this.#files.set(path.replaceAll('\\', '/'), fileOf(body, type))
    }
    const file = this.#files.get(page)
    this.#page = file && prepare(Buffer.from(file.body).toString('utf8'))
  }

  /** A file that is not a page; undefined for every other path. Only the names in `assets/` have a hash. @param path below the root of the page */
  asset(path: string, request: Request): Response | undefined {
    const file = path.endsWith('.html') ? undefined : this.#files.get(path)
    if (file === undefined) return undefined
    const cached = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'public, max-age=3600'
    return send(file, request, { 'cache-control': cached, 'x-content-type-options': 'nosniff' })
  }

  /**
   * The page, for every address below its root: its links are relative to `base`, so that it works behind any path prefix.
   * @param depth number of segments below the root of the page
   */
  page(depth: number, request: Request): Response {
    if (this.#page === undefined)
      return new Response('The page is not built. Run npm run build, and restart this server.\n', {
        status: 503,
        headers: { 'content-type': 'text/plain; charset=utf-8', ...PAGE_HEADERS },
      })
    const base = depth < 2 ? './' : '../'.repeat(depth - 1)
    let file = this.#pages.get(base)
    if (file === undefined) {
      const text = this.#page.replace('<base href="./">', `<base href="${base}">`)
      file = fileOf(new Uint8Array(Buffer.from(text)), TYPES.html!)
      this.#pages.set(base, file)
    }
    return send(file, request, { 'cache-control': 'no-cache', ...PAGE_HEADERS })
  }
}

function fileOf(body: Uint8Array<ArrayBuffer>, type: string): BuiltFile {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  let zipped: Uint8Array<ArrayBuffer> | undefined
  return {
    body,
    serveCompressed() {
      zipped ??= new Uint8Array(gzipSync(body, { level: 9 }))
      return zipped
    },
    type,
    etag,
  }
}

function send(file: BuiltFile, request: Request, headers: Readonly<Record<string, string>>): Response {
  const zip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  const all = { ...headers, etag: file.etag, vary: 'accept-encoding', 'content-type': file.type }
  const known = (request.headers.get('if-none-match') ?? '')
    .split(',')
    .map(tag => tag.trim().replace(/^W\//, ''))
  if (known.includes(file.etag)) return new Response(null, { status: 304, headers: all })
  return zip
    ? new Response(file.serveCompressed(), { headers: { ...all, 'content-encoding': 'gzip' } })
    : new Response(file.body, { headers: all })
}
