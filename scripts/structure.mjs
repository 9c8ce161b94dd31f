/** `npm run structure`: draws the folders of `src` and the imports between them, and counts imports that point up and cycles of files. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import ts from 'typescript'

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

const src = join(values.root, 'src')
const files = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => [file, readFileSync(join(src, file), 'utf8')]),
)
const folderOf = file => (file.includes('/') ? file.split('/')[0] : '.')
const importsOf = new Map(
  [...files].map(([file, text]) => {
    const found = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName)
    const local = found
      .filter(name => name.startsWith('.'))
      .map(name => relative(src, join(src, dirname(file), name)))
    return [file, local.filter(name => files.has(name))]
  }),
)

/** Folder → lines, files and imports of other folders. */
const folders = {}
for (const [file, text] of files) {
  folders[folderOf(file)] ??= { files: 0, lines: 0, imports: {} }
  const folder = folders[folderOf(file)]
  folder.files++
  folder.lines += text.split('\n').length - 1
  for (const target of importsOf.get(file)) {
    const other = folderOf(target)
    if (other !== folderOf(file)) folder.imports[other] = (folder.imports[other] ?? 0) + 1
  }
}

/** Both folders import each other: one of the two directions points up. The smaller number counts. */
const upward = Object.entries(folders).flatMap(([from, { imports }]) =>
  Object.entries(imports)
    .filter(([to, count]) => {
      const back = folders[to].imports[from] ?? 0
      return count < back || (count === back && from < to)
    })
    .map(([to, count]) => ({ from, to, count })),
)

/** Groups of files that import each other (Tarjan 1972). */
function cycles() {
  const found = []
  const state = new Map()
  const stack = []
  const visit = file => {
    const own = { index: state.size, low: state.size, onStack: true }
    state.set(file, own)
    stack.push(file)
    for (const target of importsOf.get(file)) {
      const known = state.get(target)
      if (known === undefined) own.low = Math.min(own.low, visit(target).low)
      else if (known.onStack) own.low = Math.min(own.low, known.index)
    }
    if (own.low !== own.index) return own
    const group = stack.splice(stack.indexOf(file))
    for (const member of group) state.get(member).onStack = false
    if (group.length > 1) found.push(group)
    return own
  }
  for (const file of files.keys()) if (!state.has(file)) visit(file)
  return found
}

const result = {
  folders,
  arrows: Object.values(folders).reduce((sum, { imports }) => sum + Object.keys(imports).length, 0),
  upward,
  cycles: cycles(),
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
    `${Object.keys(folders).length} folders, ${result.arrows} arrows, ${upward.length} of them up, ${result.cycles.length} cycles of files\n`,
  )
}

function id(name) {
  return name === '.' ? 'src' : name.replaceAll('-', '_')
}
