/** The banned words of `docs/glossary.md` as a rule: a file in, violations out. The table in the page is the only list of words. */
import { readFileSync } from 'node:fs'

const GLOSSARY = new URL('../../docs/glossary.md', import.meta.url)

export interface TextFile {
  /** From the root of the repository, with `/`. */
  readonly path: string
  readonly text: string
}

/** Cells of the table below a heading or sentence, without its head. */
function tableAfter(page: string, mark: string): string[][] {
  const rows: string[][] = []
  let started = false
  for (const line of page.slice(page.indexOf(mark) + mark.length).split('\n')) {
    if (line.startsWith('|')) {
      started = true
      rows.push(
        line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map(cell => cell.trim()),
      )
    } else if (started) break
  }
  return rows.slice(2)
}

/** Code spans of a cell. */
function spans(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(match => match[1]!.replaceAll('\\|', '|'))
}

const page = readFileSync(GLOSSARY, 'utf8')

/** Patterns with capitals are applied as written, the others without regard to case. */
export const BANNED: readonly RegExp[] = tableAfter(page, '## Banned words')
  .flatMap(row => spans(row[0]!))
  .map(pattern => new RegExp(pattern, /[A-Z]{2,}/.test(pattern) ? 'g' : 'gi'))

/** Names that programs outside the repository read. */
const ALLOWED: readonly string[] = tableAfter(page, 'Allowed although they match').flatMap(row =>
  spans(row[0]!),
)

/** `rememberedTokens` → `remembered tokens`, so that words in identifiers are found, too. */
function splitIdentifiers(text: string): string {
  return text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Za-z0-9])_(?=[A-Za-z])/g, '$1 ')
}

/** Any of them, for a file as a whole: most hold none, and to look for each in each line takes a minute. */
const ANY = new RegExp(BANNED.map(({ source }) => source).join('|'), 'i')

export function bannedWords({ path, text }: TextFile): string[] {
  const found: string[] = []
  if (!ANY.test(text) && !ANY.test(splitIdentifiers(text))) return found
  for (const [index, line] of text.split('\n').entries()) {
    const rest = ALLOWED.reduce((words, name) => words.replaceAll(name, ''), line)
    const forms = [rest, splitIdentifiers(rest)]
    const words = new Set(
      BANNED.flatMap(pattern =>
        forms.flatMap(form => [...form.matchAll(pattern)].map(match => match[0].toLowerCase())),
      ),
    )
    for (const word of words) found.push(`${path}:${index + 1} has "${word}": ${line.trim().slice(0, 120)}`)
  }
  return found
}

/** A comment that leaves out what it is about. */
const WITHOUT_SUBJECT = /\/\*\* (?:Of|They|It|These|Those|Its|Their) /
/** The name of a function that is a participle alone: it neither says what the function does nor what it returns. */
const PARTICIPLE =
  /^\s*(?:export )?(?:static )?(?:async )?(?:function\*? )?\*?#?(?:shown|timed|bounded|responded|decoded|escaped|joined|merged|hashed|masked|sorted|stored|opened|renewed|listed|checked|served|settled|parsed|shortened|described|recorded|granted|built|compared|tightened|indexing|searching|building|changing|counting|recording)\([^)]*\)?.*\{$/

/** @returns `path:line` of each */
export function vagueNames({ path, text }: TextFile): string[] {
  return text.split('\n').flatMap((line, at) => {
    if (WITHOUT_SUBJECT.test(line)) return [`${path}:${at + 1} begins without its subject: ${line.trim()}`]
    return PARTICIPLE.test(line) ? [`${path}:${at + 1} is a participle alone: ${line.trim()}`] : []
  })
}
