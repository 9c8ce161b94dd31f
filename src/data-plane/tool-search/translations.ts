/** Recognizes requests in German, French, Spanish and Portuguese, and translates words of them into English. It searches nothing. */
import { NOUNS_IN_ENGLISH } from './foreign-nouns.ts'
import { VERBS_IN_ENGLISH } from './foreign-verbs.ts'
import { isFiller } from './synonyms.ts'
import { wordsOf } from './words.ts'

/** Words that begin questions. */
const QUESTIONS = `
    which: welche welcher welches welchen welchem quel quelle quels quelles cual cuales qual quais
    who: qui wer wem wen quien quienes quem
    how: wie wieviel wieviele combien comment cuanto cuanta cuantos cuantas como quanto quantos quantas
    where: wo wohin ou donde onde
    when: wann quand cuando quando
    what: was quoi que
    has: hat habe haben hast tiene tengo tienen tem tenho ai avons
    is: existiert existe existen existem steht
`

/** Of the small words below, those that are English too: they stay in a request. */
const ENGLISH_TOO = new Set(wordsOf('is as do no am time para man on will mal plus son more an war'))
/** Words of these languages that say nothing about a tool. */
const SMALL_WORDS =
  wordsOf(`der die das den dem des ein eine einen einem einer eines von vom mit fur fuer im am auf zu zum zur und oder ist sind war gibt es
    ich wir mir mich uns unser unsere unseren unserer mein meine meinen meiner dieser diese dieses diesem diesen alle alles bitte kann man nicht
    mehr nur noch bei aus nach uber sich wird werden mochte will hinzu weg ab an bis seit dass wenn doch mal sie er ihr ihre aller allen
    le la les un une du au aux et ou est sont ce cet cette ces mon ma mes nos notre votre dans pour par sur avec sans je moi nous vous
    leur leurs son sa ses il elle ils elles veux peux peut plus pas tous toutes tout toute sous chez depuis voudrais
    el los las una uno del al y o es son mi mis este esta esto estos nuestro nuestra nuestros en con sin para por se ha han quiero puede puedo
    todos todas todo toda su sus mas hay fue esa ese eso sobre desde hasta yo nos favor
    os as um uma do da dos das no na nos nas em e meu minha meus minhas nosso nossa nossos nossas com sem temos esta sao eu quero pode posso seu sua
    seus suas foi mais ao aos pelo pela isso essa esse de schon jetzt heute sofort immer wieder auch deja maintenant aujourd hui toujours encore
    aussi tout suite ahora hoy siempre tambien ja agora hoje sempre tambem`)
const FOREIGN_FILLERS = new Set(SMALL_WORDS.filter(word => !ENGLISH_TOO.has(word)))
/** Words that English has too: they do not count when the language of a request is decided. */
const SHARED = new Set([
  ...wordsOf('will plus son war an me on es en'),
  ...SMALL_WORDS.filter(word => ENGLISH_TOO.has(word)),
])
/** Letters that English does not write. */
const FOREIGN_LETTERS = /[äöüßñçãõáéíóúàèìòùâêîôû¿¡]/gi

/** Endings of nouns and verbs in these languages. */
const ENDING =
  /(?:amento|imento|ados?|adas?|idos?|idas?|ando|iendo|endo|ions?|ent|ons|ant|ees?|er|ez|ar|ir|re|en|em|es|er|os|as|ao|oes|e|a|o|s|t|n)$/
const MIN_ROOT = 4

/** In the form of `wordsOf` → the English word. */
const ENGLISH = new Map<string, string>()
/** The same without endings. */
const ENGLISH_OF_ROOT = new Map<string, string>()
/** English words of the tables. */
const OWN_WORDS = new Set<string>()
for (const line of `${QUESTIONS}${NOUNS_IN_ENGLISH}${VERBS_IN_ENGLISH}`.split('\n')) {
  const [english, others] = line.split(':')
  if (others === undefined) continue
  const [word] = wordsOf(english!) as [string]
  OWN_WORDS.add(word)
  for (const other of wordsOf(others)) {
    if (!ENGLISH.has(other)) ENGLISH.set(other, word)
    const root = rootOf(other)
    if (!ENGLISH_OF_ROOT.has(root)) ENGLISH_OF_ROOT.set(root, word)
  }
}

function rootOf(word: string): string {
  const once = withoutEnding(word)
  return once === word ? word : withoutEnding(once)
}

function withoutEnding(word: string): string {
  const root = word.replace(ENDING, '')
  return root.length >= MIN_ROOT ? root : word
}

/** Letters between the parts of a German compound; none first. */
const JOINTS = ['', 's', 'n', 'en', 'es', 'e']
const MIN_PART = 4

/** The parts of a German compound such as `Rechnungsadresse` in English; empty when it is none. */
function partsOf(word: string): readonly string[] {
  for (let at = MIN_PART; at <= word.length - MIN_PART; at++) {
    const right = english(word.slice(at))
    if (right === undefined) continue
    const left = word.slice(0, at)
    for (const joint of JOINTS) {
      if (!left.endsWith(joint)) continue
      const found = english(left.slice(0, left.length - joint.length))
      if (found !== undefined) return [found, right]
    }
    const parts = partsOf(left)
    if (parts.length > 0) return [...parts, right]
  }
  return []
}

function english(word: string): string | undefined {
  if (word.length < MIN_PART) return undefined
  return ENGLISH.get(word) ?? (OWN_WORDS.has(word) ? word : ENGLISH_OF_ROOT.get(rootOf(word)))
}

/** Whether more of the words are German, French, Spanish or Portuguese than English: many words are spelled alike. */
export function isForeign(text: string, words: readonly string[]): boolean {
  let foreign = Math.min(1, text.match(FOREIGN_LETTERS)?.length ?? 0)
  for (const word of words) {
    if (SHARED.has(word)) continue
    if (FOREIGN_FILLERS.has(word)) foreign++
    else if (isFiller(word)) foreign--
    else if (ENGLISH.has(word) && !OWN_WORDS.has(word)) foreign += 0.5
  }
  return foreign > 0.5
}

export interface Translated {
  readonly word: string
  /** As it was written. */
  readonly original: string
}

/** The words of such a request in English where they have a translation. */
export function inEnglish(words: readonly string[]): Translated[] {
  return words
    .filter(word => !FOREIGN_FILLERS.has(word))
    .flatMap(original => {
      const found = ENGLISH.get(original) ?? english(original)
      const parts = found === undefined ? partsOf(original) : [found]
      return (parts.length > 0 ? parts : [original]).map(word => ({ word, original }))
    })
}
