/** `npm run sbom`: writes the production packages of the lock file, and those in the page of the console, as CycloneDX to `dist/sbom.cdx.json`. It checks nothing; `licenses.mjs` does. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const ROOT = new URL('../', import.meta.url)
const readJson = path => JSON.parse(readFileSync(new URL(path, ROOT), 'utf8'))

/** Packages of development whose code is in the page of the console, and so in the package. */
const BUNDLED = new Set(['preact', '@preact/signals', '@preact/signals-core'])
const nameOf = (path, { name }) => name ?? path.split('node_modules/').at(-1)

// `--omit=dev` of npm also omits production packages that a package of development depends on, so the lock file decides here
const shipped = new Set(
  Object.entries(readJson('package-lock.json').packages)
    .filter(([path, one]) => path !== '' && (one.dev !== true || BUNDLED.has(nameOf(path, one))))
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
