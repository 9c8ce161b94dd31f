/** Which files and packages of the dependencies are part of the package that users install. */

/** Native builds of the HTTP server: `<platform>_<arch>_<ABI of Node>`, 5 to 7 MB each. Elsewhere node:http serves. */
export const SHIPPED_PLATFORMS = ['linux_x64', 'linux_arm64', 'darwin_arm64'].flatMap(platform =>
  ['115', '127', '137'].map(abi => `${platform}_${abi}`),
)

/** Packages of which only the listed files are read; they need none of their dependencies. */
const ONLY = {
  // pages of the control plane, for browsers
  redoc: /^bundles\/redoc\.standalone\.js/,
  'swagger-ui-dist': /^swagger-ui(-bundle\.js|\.css)$|^swagger-ui-bundle\.js\.LICENSE/,
  '@btc-vision/uwebsockets.js': /^uws\.js$/,
  // for Linux before glibc 2.38; elsewhere the newer build loads
  'uWebSockets.js': /^src\/uws\.js$|^binaries\/uws_linux_(x64|arm64)_115\.node$/,
}

/** The second form of a package (CommonJS or ES modules), its sources, or parts for other environments. */
const LEFT_OUT = {
  '@electric-sql/pglite':
    /^dist\/(contrib|live|worker|vector|node-postgres|pg_ivm|pgtap)\/|\.cjs$|^dist\/[^/]*\.tar\.gz$/,
  ajv: /^(lib|\.runkit)/,
  hono: /^dist\/cjs\//,
  kysely: /^dist\/cjs\//,
  protobufjs: /^dist\//,
  rxjs: /^(src|dist\/(bundles|esm|esm5|types)|ajax|fetch|testing|webSocket)\//,
  yaml: /^browser\//,
  zod: /^src\/|\.cjs$/,
}

/** Not read by a running process. Licenses and package.json stay. */
const NOT_RUN =
  /\.(map|md|markdown|flow|coffee|yml|tsbuildinfo|html|tgz)$|\.(?:ts|mts|cts)$|^(docs?|tests?|__tests__|examples?|benchmarks?|coverage|\.github|typings?)\//i

/** Types, parts for another runtime (Bare), and native code that only makes WebSocket frames faster. */
const NOT_LOADED = /^(@types\/|bare-)|^(bufferutil|utf-8-validate)$/

/** Whole in `dist/bundle`, and loaded on demand only: 24 MB of Kubernetes are 5 MB there. */
const BUNDLED = new Set(['@kubernetes/client-node', 'kafkajs', 'nodemailer'])

/** @param name '' stands for the package itself */
export function keepsDependency(name, dependency) {
  if (name === '' && BUNDLED.has(dependency)) return false
  return ONLY[name] === undefined && !NOT_LOADED.test(dependency)
}

/** @param path below the folder of the package */
export function keepsFile(name, path) {
  if (path === 'package.json' || /^(licen[cs]e|notice|copying)/i.test(path)) return true
  if (name === '@btc-vision/uwebsockets.js' && path.endsWith('.node'))
    return SHIPPED_PLATFORMS.includes(path.replace(/^uws_|\.node$/g, ''))
  if (ONLY[name] !== undefined) return ONLY[name].test(path)
  if (NOT_RUN.test(path) || LEFT_OUT[name]?.test(path)) return false
  // OpenTelemetry has the same code three times
  return !(name.startsWith('@opentelemetry/') && /^build\/(esm|esnext)\//.test(path))
}
