/**
 * Joins the compiled modules and their packages into the few files of `dist/bundle`, which `dist/cli/index.js` and its threads start from. It
 * changes no behaviour: a start opens some 120 files in place of 900, which took a quarter of its processor time. The single modules in `dist`
 * stay, for profiles that name files.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { COMMON_JS } from './common-js.mjs'

const DIST = fileURLToPath(new URL('../dist', import.meta.url))
const BUNDLE = join(DIST, 'bundle')
/** The command line, and what `test/fixtures/gateway-child.mjs` starts a deployment with. */
const ENTRIES = ['app/cli/index.js', 'app/main.js', 'app/settings.js']
/** Packages that find files relative to their code: they are loaded from `node_modules`. */
const EXTERNAL = ['uWebSockets.js', '@btc-vision/uwebsockets.js', '@electric-sql/pglite']

/** How the sources name the file of a thread: `new URL('./name.ts', import.meta.url)`. */
const THREAD = /new URL\('(\.\/[\w-]+)\.ts', import\.meta\.url\)/g

const own = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter(
  path => path.endsWith('.js') && !/^(bundle|cli|console\/static)\//.test(path),
)
const threads = own.flatMap(path =>
  [...readFileSync(join(DIST, path), 'utf8').matchAll(THREAD)].map(([, file]) =>
    join(dirname(path), `${file}.js`),
  ),
)
/** Name of an entry in the bundle, which has no folders. */
const nameOf = path => path.replace(/\.js$/, '').replaceAll('/', '-')

/** How the sources load a package whose ES module is of no use to them. */
const REQUIRED = /\bcreateRequire\(import\.meta\.url\)\('/g

/**
 * A module keeps the place that it has in `dist`: files are found from there. A thread is started from the bundle. What a module requires
 * becomes a part of the bundle.
 */
function keepPlace(path) {
  const text = readFileSync(path, 'utf8')
  if (!text.includes('import.meta.url')) return undefined
  const place = JSON.stringify(relative(BUNDLE, path))
  const contents = text
    // esbuild follows only a plain `require`
    .replace(REQUIRED, "require('")
    .replace(
      THREAD,
      (_, file) =>
        `new URL('./${nameOf(relative(DIST, join(dirname(path), `${file}.js`)))}.ts', import.meta["url"])`,
    )
    .replaceAll('import.meta.url', `new URL(${place}, import.meta["url"]).href`)
  return { contents, loader: 'js' }
}

rmSync(BUNDLE, { recursive: true, force: true })
const { warnings } = await build({
  entryPoints: Object.fromEntries([...ENTRIES, ...threads].map(path => [nameOf(path), join(DIST, path)])),
  outdir: BUNDLE,
  chunkNames: 'chunk-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: [...EXTERNAL, ...EXTERNAL.map(name => `${name}/*`), 'pg-native'],
  banner: { js: COMMON_JS },
  // a process keeps the text that it has loaded: without comments and indentation it is half as long
  minifyWhitespace: true,
  // so that the lines of a stack trace still mean something; licenses are beside the text, which is loaded
  lineLimit: 120,
  legalComments: 'external',
  logLevel: 'warning',
  plugins: [
    {
      name: 'keep-place',
      setup(each) {
        each.onLoad({ filter: /\.m?js$/ }, ({ path }) => keepPlace(path))
      },
    },
  ],
})
if (warnings.length > 0) process.exit(1)

// one character beyond Latin-1 makes V8 keep the whole text with two bytes for each; esbuild leaves them in regular expressions alone
for (const name of readdirSync(BUNDLE)) {
  const file = join(BUNDLE, name)
  const text = readFileSync(file, 'utf8')
  const escaped = text.replace(
    /[\u0100-\uffff]/g,
    one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  if (escaped !== text) writeFileSync(file, escaped)
}
