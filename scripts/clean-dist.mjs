/** Removes files of earlier builds from `dist`: modules whose source is gone would be shipped. It keeps what the compiler reuses and other scripts write. */
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
/** Written by the compiler (`.tsbuildinfo`) and by other scripts. */
const OTHERS = new Set([
  '.tsbuildinfo',
  'database-template.gz',
  'openapi.json',
  'sbom.cdx.json',
  'cli',
  'cli/index.js',
])

const dist = join(ROOT, 'dist')
for (const path of existsSync(dist) ? readdirSync(dist, { recursive: true }) : []) {
  // of Vite and scripts/bundle.mjs, which remove their earlier files themselves
  if (OTHERS.has(path) || path.startsWith('console/static') || path.startsWith('bundle')) continue
  const isBuilt =
    existsSync(join(ROOT, 'src', path)) || existsSync(join(ROOT, 'src', path.replace(/\.(js|d\.ts)$/, '.ts')))
  if (!isBuilt) rmSync(join(dist, path), { recursive: true, force: true })
}
