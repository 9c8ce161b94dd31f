/** The rule that no folder of the repository grows without an edit of the table in `layers.ts`. */
import { FOLDER_LINES } from './layers.ts'
import type { Rule } from './rules.ts'

/** Generated files do not count. @param files by their path from the root of the repository */
export const foldersDoNotGrow: Rule = files => {
  const lines = new Map(Object.keys(FOLDER_LINES).map(folder => [folder, 0]))
  const unlisted: string[] = []
  for (const { path, text } of files) {
    if (path.includes('.generated.')) continue
    const folder = Object.keys(FOLDER_LINES).find(each => path.startsWith(`${each}/`))
    if (folder === undefined) unlisted.push(`${path} is in no folder of FOLDER_LINES (layers.ts)`)
    else lines.set(folder, lines.get(folder)! + text.split('\n').length - 1)
  }
  const grown = [...lines].filter(([folder, count]) => count > FOLDER_LINES[folder]!)
  return [
    ...unlisted,
    ...grown.map(
      ([folder, count]) =>
        `${folder} has ${count} lines, more than ${FOLDER_LINES[folder]}: delete as many, or raise the number in FOLDER_LINES (layers.ts) with the reason in the message of the commit`,
    ),
  ]
}
