/** `npm run structure`: draws the folders of `src` and the imports between them, and counts imports that point up and cycles of files, by the rules of test/architecture. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { importsHaveNoCycle, importsPointDown } from '../test/architecture/rules.ts'
import { readSources, target } from '../test/architecture/source-files.ts'

const { values } = parseArgs({
  options: {
    root: { type: 'string', default: '.' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean' },
  },
})
if (values.help) {
  process.stdout.write(
    'Usage: npm run structure -- [--root DIR] [--json]\n\nPrints a Mermaid diagram of the folders of src, with lines, imports and cycles; --json prints the same as JSON.\n',
  )
  process.exit(0)
}

const files = readSources(join(values.root, 'src')).filter(({ path }) => path.endsWith('.ts'))
const known = new Set(files.map(({ path }) => path))
const folderOf = path => (path.includes('/') ? path.split('/')[0] : '.')

/** Folder → files, lines, and imports of other folders. */
const folders = {}
for (const file of files) {
  folders[folderOf(file.path)] ??= { files: 0, lines: 0, imports: {} }
  const folder = folders[folderOf(file.path)]
  folder.files++
  folder.lines += file.lines
  for (const specifier of file.imports) {
    const to = specifier.startsWith('.') ? target(file, specifier) : undefined
    const other = known.has(to) ? folderOf(to) : folderOf(file.path)
    if (other !== folderOf(file.path)) folder.imports[other] = (folder.imports[other] ?? 0) + 1
  }
}

const result = {
  folders,
  arrows: Object.values(folders).reduce((sum, { imports }) => sum + Object.keys(imports).length, 0),
  upward: importsPointDown(files),
  cycles: importsHaveNoCycle(files),
}
if (values.json) process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`)
else {
  const names = Object.entries(folders).map(
    ([name, { files: count, lines }]) => `  ${id(name)}["${name}: ${count} files, ${lines} lines"]`,
  )
  const arrows = Object.entries(folders).flatMap(([from, { imports }]) =>
    Object.entries(imports).map(([to, count]) => `  ${id(from)} -->|${count}| ${id(to)}`),
  )
  process.stdout.write(`flowchart TD\n${[...names, ...arrows].join('\n')}\n`)
  process.stderr.write(
    `${Object.keys(folders).length} folders, ${result.arrows} arrows, ${result.upward.length} imports up, ${result.cycles.length} cycles of files\n`,
  )
}

function id(name) {
  return name === '.' ? 'src' : name.replaceAll('-', '_')
}
