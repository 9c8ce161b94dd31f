/** The rules of `architecture.md` as functions: source files in, violations out, each with the reason. The table is `layers.ts`. */
import {
  ADAPTERS,
  CHOOSERS,
  CONSOLE_WRITERS,
  EMPTY_NAMES,
  ENVIRONMENT_READERS,
  type Exception,
  FORBIDDEN,
  LAYERS,
  MAX_LINES,
  MAX_TEST_LINES,
  SHARED_BY_STAGES,
  STAGE_LIST,
  STAGES,
  VENDORS,
} from './layers.ts'
import { packageOf, type SourceFile, target } from './source-files.ts'

export type Rule = (files: readonly SourceFile[]) => string[]

function isIn(path: string, place: string): boolean {
  return place.endsWith('/') ? path.startsWith(place) : path === place
}

/** The layer of a file, 0 at the top, and its folder; undefined outside the table. */
export function placeOf(path: string): { readonly layer: number; readonly folder: string } | undefined {
  for (const [layer, folders] of LAYERS.entries()) {
    const folder = folders.find(each => isIn(path, each))
    if (folder !== undefined) return { layer, folder }
  }
  return undefined
}

function excepted(exceptions: readonly Exception[], from: string, to: string): Exception | undefined {
  return exceptions.find(exception => isIn(from, exception.from) && isIn(to, exception.to))
}

interface Edge {
  readonly from: string
  readonly to: string
}

/** Every relative import of the files except style sheets, with the file it names. */
function* edges(files: readonly SourceFile[]): Generator<Edge> {
  for (const file of files)
    for (const specifier of file.imports)
      if (specifier.startsWith('.') && !specifier.endsWith('.css'))
        yield { from: file.path, to: target(file, specifier) }
}

/** Imports of a folder or file, for messages. */
export function importsInto(files: readonly SourceFile[], place: string): string[] {
  return [...edges(files)].filter(({ to }) => isIn(to, place)).map(({ from, to }) => `${from} imports ${to}`)
}

export const everyFileHasALayer: Rule = files =>
  files
    .filter(file => placeOf(file.path) === undefined)
    .map(file => `${file.path} is in no folder of LAYERS (layers.ts)`)

export const importsPointDown: Rule = files => {
  const wrong: string[] = []
  for (const { from, to } of edges(files)) {
    const [importer, imported] = [placeOf(from), placeOf(to)]
    if (importer === undefined || imported === undefined || importer.folder === imported.folder) continue
    if (importer.layer >= imported.layer)
      wrong.push(`${from} imports ${to}, and ${imported.folder} is not below ${importer.folder}`)
  }
  return wrong
}

export const forbiddenImportsAreAbsent: Rule = files => {
  const wrong: string[] = []
  for (const { from, to } of edges(files)) {
    const forbidden = excepted(FORBIDDEN, from, to)
    if (forbidden !== undefined) wrong.push(`${from} imports ${to}, but ${forbidden.reason}`)
  }
  return wrong
}

/** `data-plane/stages/4-decide/authorize.ts` → `data-plane/stages/4-decide/`. */
function phaseOf(path: string): string {
  return path.slice(0, path.indexOf('/', STAGES.length) + 1)
}

export const stagesShareThroughOneFolder: Rule = files => {
  const wrong: string[] = []
  for (const { from, to } of edges(files)) {
    if (!isIn(from, STAGES) || !isIn(to, STAGES) || isIn(from, STAGE_LIST) || isIn(to, SHARED_BY_STAGES))
      continue
    if (phaseOf(from) !== phaseOf(to))
      wrong.push(`${from} imports ${to}; what phases share is in ${SHARED_BY_STAGES}`)
  }
  return wrong
}

export const onlyAppImportsAdapters: Rule = files => {
  const wrong: string[] = []
  for (const { from, to } of edges(files)) {
    const adapter = ADAPTERS.find(place => isIn(to, place))
    if (adapter === undefined || isIn(from, adapter) || isIn(from, 'app/')) continue
    if (excepted(CHOOSERS, from, to) === undefined)
      wrong.push(`${from} imports ${to} of the adapter ${adapter}`)
  }
  return wrong
}

/** Types count: two files that name each other cannot be read one after the other. */
export const importsHaveNoCycle: Rule = files => {
  const importsOf = new Map(files.map(file => [file.path, [] as string[]]))
  for (const { from, to } of edges(files)) importsOf.get(from)?.push(importsOf.has(to) ? to : `${to}.ts`)
  const done = new Set<string>()
  const wrong: string[] = []
  const visit = (path: string, chain: readonly string[]): void => {
    if (chain.includes(path)) {
      wrong.push([...chain.slice(chain.indexOf(path)), path].join(' → '))
      return
    }
    if (done.has(path)) return
    for (const next of importsOf.get(path) ?? []) visit(next, [...chain, path])
    done.add(path)
  }
  for (const path of importsOf.keys()) visit(path, [])
  return wrong
}

export const vendorsStayInTheirFolder: Rule = files => {
  const wrong: string[] = []
  for (const file of files) {
    for (const specifier of file.imports) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue
      const name = packageOf(specifier)
      const vendor = VENDORS.find(entry => entry.package === name)
      if (vendor === undefined) wrong.push(`${file.path} imports ${name}, which has no entry in VENDORS`)
      else if (!vendor.folders.some(folder => isIn(file.path, folder)))
        wrong.push(`${file.path} imports ${name}, which is imported in ${vendor.folders.join(' and ')} only`)
    }
  }
  return wrong
}

export const environmentIsReadInApp: Rule = files =>
  files
    .filter(file => file.readsEnvironment && !ENVIRONMENT_READERS.some(place => isIn(file.path, place)))
    .map(file => `${file.path} reads the environment; take an option instead`)

export const consoleStaysInCommands: Rule = files =>
  files
    .filter(file => file.writesConsole && !CONSOLE_WRITERS.some(place => isIn(file.path, place)))
    .map(file => `${file.path} writes to the console; take a Log instead`)

/** Source and kernel know each other only through bytes. */
export const foldersAreNotLeft: Rule = files =>
  [...edges(files)].filter(({ to }) => to.startsWith('../')).map(({ from, to }) => `${from} imports ${to}`)

export const filesOpenWithASentence: Rule = files =>
  files
    .filter(file => {
      const opening = /^(?:#![^\n]*\n)?\/\*\*([\s\S]*?)\*\//.exec(file.text)?.[1] ?? ''
      return !/\w[\s\S]*[.:](\s|$)/.test(opening)
    })
    .map(file => `${file.path} does not open with a sentence that says what it holds`)

/** The length of generated files is not ours to choose. */
export const filesAreShort: Rule = files =>
  filesOver(
    MAX_LINES,
    files.filter(file => !file.path.endsWith('.generated.ts')),
  )

/** Tests are lists of cases: they may be longer. */
export const testsAreShort: Rule = files => filesOver(MAX_TEST_LINES, files)

function filesOver(maxLines: number, files: readonly SourceFile[]): string[] {
  return files
    .filter(file => file.lines > maxLines)
    .map(file => `${file.path} has ${file.lines} lines, more than ${maxLines}`)
}

export const namesSayWhatIsInside: Rule = files =>
  files
    .filter(
      file =>
        EMPTY_NAMES.test(file.path) ||
        !/^([a-z0-9]+([-.][a-z0-9]+)*\/)*[a-z0-9]+([-.][a-z0-9]+)*\.tsx?$/.test(file.path),
    )
    .map(file => `${file.path} is not a kebab-case name that says what the file holds`)
