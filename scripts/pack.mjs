/**
 * `npm run pack [-- FOLDER]`: writes `toolgate-<version>.tgz`, the package that users install, with the dependencies that it loads from its
 * `node_modules`, reduced to the files that run. It changes nothing below `src` and `node_modules`. Why: `docs/decisions/0011-package.md`.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { keepsDependency, keepsFile, SHIPPED_PLATFORMS } from './pack/contents.mjs'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const readJson = path => JSON.parse(readFileSync(path, 'utf8'))
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

/** The dependencies of a package that stay in the bundle. Optional ones and peers count where they are installed. */
function dependenciesOf(name, manifest) {
  const { dependencies, optionalDependencies, peerDependencies } = manifest
  const names = Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies })
  return names.filter(dependency => keepsDependency(name, dependency))
}

/** Folder below ROOT of a dependency, found as Node finds it; undefined where it is not installed. */
function locate(from, dependency) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const path = folder === '' ? `node_modules/${dependency}` : `${folder}/node_modules/${dependency}`
    if (existsSync(join(ROOT, path, 'package.json'))) return path
    if (folder === '') return undefined
  }
}

/** Folders of all packages that the product loads. */
function installedPackages(manifest) {
  const found = new Set()
  const pending = [['', '', manifest]]
  for (const [folder, name, one] of pending) {
    for (const dependency of dependenciesOf(name, one)) {
      const path = locate(folder, dependency)
      if (path === undefined && one.dependencies?.[dependency] !== undefined)
        throw new Error(`${dependency}, a dependency of ${name || 'toolgate'}, is not installed; run npm ci`)
      if (path === undefined || found.has(path)) continue
      found.add(path)
      pending.push([path, dependency, readJson(join(ROOT, path, 'package.json'))])
    }
  }
  return [...found].sort()
}

/** Without what is left out: npm would fetch it. */
function reduceManifest(path, name) {
  const manifest = readJson(path)
  for (const kind of ['dependencies', 'optionalDependencies', 'peerDependencies']) {
    const kept = Object.entries(manifest[kind] ?? {}).filter(([one]) => keepsDependency(name, one))
    if (kept.length > 0) manifest[kind] = Object.fromEntries(kept)
    else delete manifest[kind]
  }
  delete manifest.devDependencies
  delete manifest.scripts
  writeJson(path, manifest)
}

function copyPackage(folder, target) {
  const source = join(ROOT, folder)
  const name = folder.split('node_modules/').at(-1)
  cpSync(source, join(target, folder), {
    recursive: true,
    filter: path => {
      const inside = path.slice(source.length + 1)
      // nested packages are copied by themselves
      if (inside === 'node_modules' || inside === '.bin') return false
      return statSync(path).isDirectory() || keepsFile(name, inside)
    },
  })
  reduceManifest(join(target, folder, 'package.json'), name)
}

/** The native builds that are shipped, each compared with the digest under which it was reviewed. */
async function checkNativeBuilds(target) {
  const { NATIVE_BUILDS } = await import(pathToFileURL(join(ROOT, 'dist/net/server/uws/builds.js')).href)
  const addons = readdirSync(join(target, 'node_modules'), { recursive: true }).filter(path =>
    path.endsWith('.node'),
  )
  for (const addon of addons) {
    const platform = basename(addon, '.node').replace(/^uws_/, '')
    const build = NATIVE_BUILDS.find(one => addon.startsWith(`${one.package}/`))
    const digest = createHash('sha256')
      .update(readFileSync(join(target, 'node_modules', addon)))
      .digest('hex')
    if (build?.sha256[platform] !== digest)
      throw new Error(
        `node_modules/${addon} has a SHA-256 that src/net/server/uws/builds.ts does not list; run npm ci`,
      )
  }
  for (const platform of SHIPPED_PLATFORMS)
    if (!addons.some(addon => addon.endsWith(`_${platform}.node`)))
      throw new Error(`node_modules has no native build of uWebSockets.js for ${platform}; run npm ci`)
}

/** The lock file, for the packages of the bundle. */
function writeShrinkwrap(target, manifest, folders) {
  const lock = readJson(join(ROOT, 'package-lock.json'))
  const packages = { '': { ...manifest, bundleDependencies: Object.keys(manifest.dependencies) } }
  for (const folder of folders) {
    const { dependencies, optionalDependencies, peerDependencies } = readJson(
      join(target, folder, 'package.json'),
    )
    const { dev, devOptional, ...locked } = lock.packages[folder]
    packages[folder] = { ...locked, dependencies, optionalDependencies, peerDependencies, inBundle: true }
  }
  writeJson(join(target, 'npm-shrinkwrap.json'), { ...lock, packages })
}

const destination = resolve(process.argv[2] ?? ROOT)
const work = mkdtempSync(join(tmpdir(), 'toolgate-pack-'))
try {
  const { devDependencies, scripts, ...manifest } = readJson(join(ROOT, 'package.json'))
  // npm would fetch what is left out
  manifest.dependencies = Object.fromEntries(
    Object.entries(manifest.dependencies).filter(([name]) => keepsDependency('', name)),
  )
  for (const path of manifest.files) {
    if (!existsSync(join(ROOT, path))) throw new Error(`${path} is missing; run npm run build`)
    cpSync(join(ROOT, path), join(work, path), {
      recursive: true,
      filter: one => !/\.(tsbuildinfo|inputs)$/.test(one),
    })
  }
  for (const path of ['README.md', 'LICENSE']) cpSync(join(ROOT, path), join(work, path))
  const types = [
    'node_modules/typescript/bin/tsc',
    '-p',
    'tsconfig.stage.json',
    '--outDir',
    join(work, 'dist'),
  ]
  execFileSync(process.execPath, types, { cwd: ROOT, stdio: 'inherit' })
  const folders = installedPackages(manifest)
  for (const folder of folders) copyPackage(folder, work)
  await checkNativeBuilds(work)
  const shipped = { ...manifest, bundleDependencies: Object.keys(manifest.dependencies) }
  writeJson(join(work, 'package.json'), shipped)
  writeShrinkwrap(work, manifest, folders)
  mkdirSync(destination, { recursive: true })
  const options = ['--ignore-scripts', '--json', '--loglevel=error', `--pack-destination=${destination}`]
  const [report] = JSON.parse(execFileSync('npm', ['pack', ...options], { cwd: work, maxBuffer: 2 ** 28 }))
  const mb = bytes => `${(bytes / 1e6).toFixed(1)} MB`
  console.log(
    `${join(destination, report.filename)}: ${mb(report.size)}, installed ${mb(report.unpackedSize)}, ${report.entryCount} files, ${folders.length} packages`,
  )
} finally {
  rmSync(work, { recursive: true, force: true })
}
