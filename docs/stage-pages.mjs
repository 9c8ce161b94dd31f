/** Copies the pages of the repository below `.vitepress/pages`, where the generator finds its own modules. */
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGES = fileURLToPath(new URL('./.vitepress/pages', import.meta.url))
const FOLDERS = ['docs', 'policies', 'bench', 'console', 'deploy']

const isPage = path => path.endsWith('.md') && !/(^|\/)(node_modules|\.[^/]+)\//.test(path)
const pages = [
  ...readdirSync(ROOT).filter(isPage),
  ...FOLDERS.flatMap(folder => readdirIn(folder).map(path => join(folder, path))).filter(isPage),
]

rmSync(PAGES, { recursive: true, force: true })
for (const page of pages) {
  const to = join(PAGES, page)
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(join(ROOT, page), to)
}

function readdirIn(folder) {
  try {
    return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if (error.code === 'ENOENT') return []
    throw error
  }
}
