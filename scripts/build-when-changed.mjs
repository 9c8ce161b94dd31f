/** Runs `npm run build` unless `dist` and `build` were made from the files as they are. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
/** What a build reads, besides the packages that the lock file names. */
const INPUTS = ['assembly', 'console', 'policies', 'scripts', 'src']
const FILES = /^(package|package-lock|tsconfig.*|asconfig)\.json$/
/** What it writes first, last and in between. */
const OUTPUTS = [
  'build/kernel.wasm',
  'build/kernel.debug.wasm',
  'dist/cli/index.js',
  'dist/bundle/app-cli-index.js',
  'dist/console/static/index.html',
  'dist/sbom.cdx.json',
]
const STAMP = join(ROOT, 'dist/.inputs')

function hashInputs() {
  const files = [
    ...readdirSync(ROOT).filter(name => FILES.test(name)),
    ...INPUTS.flatMap(dir =>
      readdirSync(join(ROOT, dir), { recursive: true })
        .map(path => join(dir, path))
        .filter(path => statSync(join(ROOT, path)).isFile()),
    ),
  ].sort()
  const hash = createHash('sha256').update(process.version)
  for (const path of files)
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(ROOT, path)))
      .update('\0')
  return hash.digest('hex')
}

const inputs = hashInputs()
const isCurrent =
  OUTPUTS.every(path => existsSync(join(ROOT, path))) &&
  existsSync(STAMP) &&
  readFileSync(STAMP, 'utf8') === inputs
if (isCurrent) {
  // tests compare its time with those of the sources, which a checkout also changes
  const now = new Date()
  utimesSync(join(ROOT, 'dist/cli/index.js'), now, now)
} else {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' })
  // the kernel's constants in src are written by the build itself
  if (status === 0) writeFileSync(STAMP, hashInputs())
  process.exitCode = status ?? 1
}
