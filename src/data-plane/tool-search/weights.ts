/** The weights and shares that the tool search uses. It computes nothing. */

/** The values were searched one after the other over the development sets (test/corpus/search/README.md). */
export const WEIGHTS = {
  // of the words of a request, where 1 is a noun
  /** What a request does is compared by itself (`actionFit`), so its verb counts less. */
  ACTION_WEIGHT: 0.7,
  /** "project" in "project board": the last word says more. */
  MODIFIER_WEIGHT: 0.9,
  /** Names and ids rarely stand in a document. */
  VALUE_WEIGHT: 0.15,
  /** "my" hints at tools for the caller, "our" at those of an organization, `owner/name` at those of a repository. */
  SELF_WEIGHT: 0.3,
  US_WEIGHT: 0.15,
  REPOSITORY_WEIGHT: 0.3,
  /** Words made of two ("top up" → `topup`), of one, and of initials: they may be chance. */
  CLOSED_WEIGHT: 0.4,
  /** Words of the tool set that is named. */
  SOURCE_WORD_WEIGHT: 0.2,

  // of words that mean the same, as shares of the weight of the word
  SYNONYM_WEIGHT: 0.28,
  /** No tool is described with the word itself: what means the same is all there is. */
  UNKNOWN_SYNONYM_WEIGHT: 1,
  /** "approve" for `approval`. */
  FAMILY_WEIGHT: 0.5,

  // of a word in each field of a tool
  NAME: 2.1,
  PATH: 2,
  SUMMARY: 3.5,
  /** Descriptions mention much that the tool does not do. */
  DESCRIPTION: 0.3,
  ARGUMENTS: 0.5,
  TAGS: 0.6,
  SOURCE: 0.6,

  // BM25: growth with repetitions, influence of the length, least of a match; share of words that only begin alike
  K: 1.5,
  B: 0.87,
  D: 0.22,
  PREFIX: 0.3,
  /** A word that stands in every field is counted for each of them; the power takes back some of that. */
  BM25_POWER: 0.65,

  // share of the score that is left to a tool
  /** that does the opposite */
  OPPOSITE_ACTION: 0.24,
  /** that changes something, where the request says no verb */
  NO_ACTION: 0.94,
  /** that belongs to another tool set than the one named */
  OTHER_SOURCE: 0.15,
  /** that returns one thing where several are asked for, or the reverse */
  OTHER_COUNT: 0.52,
  /** for a thing that the request does not name */
  NOUN_NOT_NAMED: 0.65,
  /** for each place it is in that the request does not name */
  PARENT_NOT_NAMED: 0.55,
  /** whose path has no place for the things that the request names with a value */
  NOT_IDENTIFIED: 0.45,
  /** that takes fewer things than the request names, or more */
  TOO_FEW_THINGS: 0.9,
  TOO_MANY_THINGS: 0.8,
  /** that is for tests, or kept for old callers, where the request does not ask for that */
  MARKED: 0.5,
  /** that mentions nothing of the request */
  NOTHING_COVERED: 0.1,
  /** of whose name and path the request says nothing */
  NOTHING_MEANT: 0.5,

  /** How much a word that means the same covers a word of the request. */
  SYNONYM_COVERS: 0.45,
  /** How much it names the noun, a place or another word of a tool. */
  SYNONYM_NAMES: 0.7,
  /** Of verbs in names, beside nouns: "list" says little about a tool. */
  VERB_IN_NAME: 0.3,
}
