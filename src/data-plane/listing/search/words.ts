/** Splits text into the words for index and search, and guesses whether an English noun is a plural. */

/** Longer texts are not read further. */
const MAX_CHARS = 4_000
const MAX_WORD = 40
/** Other spellings of one word: documents and people write both. */
const SPELLINGS = new Map([
  ['repo', 'repository'],
  ['repos', 'repository'],
  ['org', 'organization'],
  ['orgs', 'organization'],
  ['organisation', 'organization'],
  ['organisations', 'organization'],
])
/** Chinese, Japanese and Thai write no spaces: each pair of characters counts as a word. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u
const PIECE = /[\p{L}\p{M}\p{N}]+/gu

/** Lower case without accents and English endings, in order, with repetitions; identifiers are split into their words. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const [piece] of splitCase(text.slice(0, MAX_CHARS)).matchAll(PIECE)) {
    const word = piece.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().slice(0, MAX_WORD)
    if (word === '') continue
    if (UNSPACED.test(word)) pairs(word, words)
    else words.push(SPELLINGS.get(word) ?? stem(word))
    // `unfollow` is found by "stop following"
    if (/^un.{4}/.test(word)) words.push(stem(word.slice(2)))
  }
  return words
}

/** `listPullRequests` → `list Pull Requests`, `HTTPServer` → `HTTP Server`. */
function splitCase(text: string): string {
  return text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/['’]s\b/g, '')
}

function pairs(text: string, words: string[]): void {
  const characters = [...text]
  if (characters.length === 1) words.push(text)
  for (let at = 0; at + 1 < characters.length; at++) words.push(characters[at]! + characters[at + 1]!)
}

/** Words that say nothing about a tool. */
const FILLERS = new Set(
  wordsOf(`a an the of to in on at for from by with and or is are was were be been am do does did it its this that these those i we you he she
    they me my our your his her their us them as so now please can could would should will may might there here if whether just also only
    need want which what who whose whom where when how any some has have had into about than then all every each`),
)

export function isFiller(word: string): boolean {
  return FILLERS.has(word)
}

/** Whether an English noun names several things. */
export function isPlural(word: string): boolean {
  return word.length > 3 && /[^sui]s$/i.test(word)
}

/** Without English endings; other languages lose the same letters in documents and queries alike. */
function stem(word: string): string {
  if (word.length < 4 || /\d/.test(word)) return word
  let out = word
  if (out.endsWith('ies') && out.length > 4) out = `${out.slice(0, -3)}y`
  else if (/(?:ss|sh|ch|x|z)es$/.test(out)) out = out.slice(0, -2)
  else if (out.endsWith('s') && !/(?:ss|us|is)$/.test(out)) out = out.slice(0, -1)
  if (out.length > 5 && out.endsWith('ing')) out = undoubled(out.slice(0, -3))
  else if (out.length > 4 && out.endsWith('ed') && !out.endsWith('eed')) out = undoubled(out.slice(0, -2))
  return out.length > 3 && out.endsWith('e') ? out.slice(0, -1) : out
}

/** `stopp` → `stop`. */
function undoubled(word: string): string {
  const last = word.at(-1)!
  return last === word.at(-2) && !'lsz'.includes(last) ? word.slice(0, -1) : word
}
