/** The rules of the house as functions: source files in, violations out, each with the reason. The table is `rooms.ts`. */
import {
  ADAPTERS,
  CHOOSERS,
  CONSOLE_WRITERS,
  EMPTY_NAMES,
  ENVIRONMENT_READERS,
  type Exception,
  FLOORS,
  MAX_LINES,
  MAX_TEST_LINES,
  NEVER,
  PLACES,
  type Place,
  SIDEWAYS,
  VENDORS,
} from './rooms.ts'
import { packageOf, type SourceFile, target } from './source-files.ts'

export type Rule = (files: readonly SourceFile[]) => string[]

function isIn(path: string, place: string): boolean {
  return place.endsWith('/') ? path.startsWith(place) : path === place
}

export function placeOf(path: string): Place | undefined {
  return PLACES.filter(place => isIn(path, place.path)).sort((a, b) => b.path.length - a.path.length)[0]
}

function roomOf(path: string): string {
  return path.split('/')[0]!
}

function excepted(exceptions: readonly Exception[], from: string, to: string): Exception | undefined {
  return exceptions.find(exception => isIn(from, exception.from) && isIn(to, exception.to))
}

/** Every relative import of the files, with where it leads. */
function* edges(files: readonly SourceFile[]): Generator<{ readonly from: string; readonly to: string }> {
  for (const file of files)
    for (const specifier of file.imports)
      if (specifier.startsWith('.')) yield { from: file.path, to: target(file, specifier) }
}

export const everyFileHasARoom: Rule = files =>
  files
    .filter(file => placeOf(file.path) === undefined)
    .map(file => `${file.path} is in no room of the table`)

export const importsPointDown: Rule = files => {
  const wrong: string[] = []
  for (const { from, to } of edges(files)) {
    const [above, below] = [placeOf(from), placeOf(to)]
    if (above === undefined || below === undefined || to.startsWith('../')) continue
    if (roomOf(from) === roomOf(to) && (above.floor === below.floor || above.floor !== 'interface')) continue
    const step = FLOORS.indexOf(above.floor) - FLOORS.indexOf(below.floor)
    const together = above.floor === 'interface' && below.floor === 'interface'
    if (step > 0 || together || excepted(SIDEWAYS, from, to) !== undefined) continue
    wrong.push(`${from} (${above.floor}) imports ${to} (${below.floor}), which does not stand below it`)
  }
  return wrong
}

export const forbiddenStepsAreNotTaken: Rule = files => {
  const wrong: string[] = []
  for (const { from, to } of edges(files)) {
    const never = excepted(NEVER, from, to)
    if (never !== undefined) wrong.push(`${from} imports ${to}, but ${never.reason}`)
  }
  return wrong
}

export const onlyMainImportsAdapters: Rule = files => {
  const wrong: string[] = []
  for (const { from, to } of edges(files)) {
    const adapter = ADAPTERS.find(place => isIn(to, place))
    if (adapter === undefined || isIn(from, adapter) || isIn(from, 'main.ts') || isIn(from, 'main/')) continue
    if (excepted(CHOOSERS, from, to) === undefined)
      wrong.push(`${from} imports ${to} of the adapter ${adapter}`)
  }
  return wrong
}

export const vendorsStayInTheirRoom: Rule = files => {
  const wrong: string[] = []
  for (const file of files) {
    for (const specifier of file.imports) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue
      const name = packageOf(specifier)
      const vendor = VENDORS.find(entry => entry.package === name)
      if (vendor === undefined) wrong.push(`${file.path} imports ${name}, which has no room in the table`)
      else if (!vendor.rooms.some(room => isIn(file.path, room)))
        wrong.push(`${file.path} imports ${name}, which lives in ${vendor.rooms.join(' and ')}`)
    }
  }
  return wrong
}

export const environmentIsReadOnce: Rule = files =>
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

/** What a program wrote is as long as it is. */
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

export const namesTellWhatIsInside: Rule = files =>
  files
    .filter(
      file =>
        EMPTY_NAMES.test(file.path) ||
        !/^([a-z0-9]+([-.][a-z0-9]+)*\/)*[a-z0-9]+([-.][a-z0-9]+)*\.ts$/.test(file.path),
    )
    .map(file => `${file.path} is not a kebab-case name that tells what the file holds`)
