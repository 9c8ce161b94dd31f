/** Finds the root that groups English words of a family, such as "approve" and "approval". It reads no tool. */

/** Endings of words as `wordsOf` gives them, and what stands for them in the root; the first that leaves enough letters counts. */
const ENDINGS: readonly (readonly [RegExp, string, number])[] = [
  [/i[sz](?:ation|e)?$/, 'iz', 4],
  [/if(?:ication|y|ie)$/, 'ifi', 2],
  [/scri(?:ption|pt|b)$/, 'scrib', 2],
  [/y[sz](?:is|er)?$/, 'ys', 2],
  [/bility$/, 'bl', 3],
  [/(?:ation|ator|ative|at)$/, '', 4],
  [/(?:ature|ment|ship|ness)$/, '', 4],
  [/(?:ion|ive|ity|ful|ly|al)$/, '', 4],
  [/(?:or|er)$/, '', 5],
  [/y$/, '', 4],
]
/** Words that are not of the family of their root. */
const ALONE = new Set([
  'customer',
  'number',
  'member',
  'order',
  'total',
  'portal',
  'terminal',
  'period',
  'community',
  'proposal',
])

/** @param word in the form of `wordsOf` */
export function rootOf(word: string): string {
  if (ALONE.has(word)) return word
  for (const [ending, instead, least] of ENDINGS) {
    const at = word.search(ending)
    if (at >= least) return word.slice(0, at) + instead
  }
  return word
}
