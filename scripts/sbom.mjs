/** `npm run sbom`: writes the production packages of the lock file, and those in the page of the console, as CycloneDX to `dist/sbom.cdx.json`. It checks nothing; `licenses.mjs` does. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

const ROOT = new URL('../', import.meta.url)
const readJson = path => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'))

/** The package of an import or a dynamic import that does not name a file. */
const IMPORT = /(?:from|import)\s*\(?\s*'((?:@[\w.-]+\/)?[\w-][\w.-]*)[^']*'/g
const nameOf = (path, { name }) => name ?? path.split('node_modules/').at(-1)

const { packages } = readJson('package-lock.json')
const sources = new URL('console/src/', ROOT)
const imported = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  .filter(path => /\.tsx?$/.test(path))
  .flatMap(path => [...readFileSync(new URL(path, sources), 'utf8').matchAll(IMPORT)])
  .map(([, name]) => name)

/** Packages of development whose code is in the page of the console, and so in the package: what its sources import, and what that needs. */
const bundled = new Set()
function addBundled(name, from) {
  const path = `${from}node_modules/${name}`
  if (packages[path] === undefined) {
    if (from !== '') addBundled(name, from.slice(0, from.lastIndexOf('node_modules/')))
  } else if (!bundled.has(path)) {
    bundled.add(path)
    for (const needed of Object.keys(packages[path].dependencies ?? {})) addBundled(needed, `${path}/`)
  }
}
for (const name of imported) addBundled(name, '')

// `--omit=dev` of npm also omits production packages that a package of development depends on, so the lock file decides here
const shipped = new Set(
  Object.entries(packages)
    .filter(([path, one]) => path !== '' && (one.dev !== true || bundled.has(path)))
    .map(([path, one]) => `${nameOf(path, one)}@${one.version}`),
)

// from the lock file: the same on every platform, without network and `node_modules`
const OPTIONS = ['--sbom-format=cyclonedx', '--package-lock-only', '--loglevel=error']
const json = execFileSync('npm', ['sbom', ...OPTIONS], { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 })
const sbom = JSON.parse(json)
const root = sbom.metadata.component
// npm takes the name of the folder, and one type for all
Object.assign(root, { name: readJson('package.json').name, type: 'application' })
sbom.components = sbom.components
  .filter(component => shipped.has(component['bom-ref']))
  .map(component => ({
    ...component,
    properties: component.properties.filter(({ name }) => name !== 'cdx:npm:package:development'),
  }))
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => ref === root['bom-ref'] || shipped.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(on => shipped.has(on)) }))

mkdirSync(new URL('dist/', ROOT), { recursive: true })
writeFileSync(new URL('dist/sbom.cdx.json', ROOT), `${JSON.stringify(sbom, null, 2)}\n`)
console.log(`dist/sbom.cdx.json: ${sbom.components.length} packages`)
