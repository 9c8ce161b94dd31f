/** Indexes tools, and finds and ranks those that fit a request in the words of a user. It calls no tool. */
import MiniSearch from 'minisearch'
import type { Tool } from '../../model/tool.ts'
import type { CompiledTool } from '../snapshot/snapshot.ts'
import { actionFit, isActionWord } from './actions.ts'
import { countFit, identifiedFit, nounFit, type PathNoun, pathNounOf, unnamedParents } from './path-noun.ts'
import { type Query, readQuery, type Vocabulary } from './query.ts'
import { rootOf } from './roots.ts'
import { isFiller } from './synonyms.ts'
import { WEIGHTS } from './weights.ts'
import { wordsOf } from './words.ts'

const FIELDS = ['name', 'path', 'summary', 'description', 'arguments', 'tags', 'source']
/** Characters of one field that are indexed. */
const MAX_FIELD = 600
/** Tools that are searched in one turn of the event loop. */
const PART_SIZE = 2_000
/** Of each part, ranked a second time. */
const CANDIDATES = 80
/** A word in more than this share of the tools is searched for only when it is written. */
const COMMON_SHARE = 0.15
const COMMON_LEAST = 100
/** Words of tools that are for tests or kept for old callers: who does not ask for such a one does not want it. */
const MARKS = wordsOf('test helper stub legacy sandbox mock demo deprecated')

interface Entry {
  readonly compiled: CompiledTool
  /** Of name and path; how much each counts without its frequency. */
  readonly words: ReadonlyMap<string, number>
  readonly marks: readonly string[]
  readonly noun: PathNoun
}

interface Part {
  readonly texts: MiniSearch<Row>
  readonly entries: Entry[]
}

interface Row {
  readonly id: number
  readonly [field: string]: string | number
}

interface SourcedQuery extends Query {
  /** Tool sets that the request names. */
  readonly sources: ReadonlySet<string>
}

interface Ranked {
  readonly compiled: CompiledTool
  readonly score: number
}

export class ToolIndex {
  readonly size: number
  readonly #parts: readonly Part[]
  /** Names of tool sets, and their words. */
  readonly #sources: ReadonlyMap<string, readonly string[]>
  /** Word → how many tools have it in name, path or summary. */
  readonly #frequencies: ReadonlyMap<string, number>
  /** Of words of tools, as far as they were looked up. */
  readonly #rarities = new Map<string, number>()
  readonly #vocabulary: Vocabulary

  private constructor(
    size: number,
    parts: readonly Part[],
    sources: ReadonlyMap<string, readonly string[]>,
    frequencies: ReadonlyMap<string, number>,
    families: ReadonlyMap<string, readonly string[]>,
  ) {
    this.size = size
    this.#parts = parts
    this.#sources = sources
    this.#frequencies = frequencies
    this.#vocabulary = {
      has: word => frequencies.has(word),
      isCommon: word => (frequencies.get(word) ?? 0) > Math.max(COMMON_LEAST, size * COMMON_SHARE),
      isRare: word => (frequencies.get(word) ?? 0) <= 1,
      relatedTo: word => families.get(rootOf(word))?.filter(other => other !== word) ?? [],
    }
  }

  /** It may be interrupted after each tool. */
  static *building(tools: readonly CompiledTool[]): Generator<void, ToolIndex> {
    const count = Math.max(1, Math.ceil(tools.length / PART_SIZE))
    const parts = Array.from({ length: count }, (): Part => ({ texts: emptyTexts(), entries: [] }))
    const sources = new Map<string, readonly string[]>()
    const frequencies = new Map<string, number>()
    const families = new Map<string, string[]>()
    for (const [at, compiled] of tools.entries()) {
      const { tool } = compiled
      // dealt out in turn, so that words are about as frequent in each part
      const part = parts[at % count]!
      const row = rowOf(part.entries.length, tool)
      part.texts.add(row)
      const words = ownWordsOf(tool)
      part.entries.push({
        compiled,
        words,
        marks: MARKS.filter(mark => words.has(mark)),
        noun: pathNounOf(tool),
      })
      for (const word of new Set(wordsOf(`${row.name} ${row.path} ${row.summary}`))) {
        const before = frequencies.get(word) ?? 0
        frequencies.set(word, before + 1)
        if (before === 0) families.set(rootOf(word), [...(families.get(rootOf(word)) ?? []), word])
      }
      if (!sources.has(tool.toolSet)) sources.set(tool.toolSet, wordsOf(tool.toolSet))
      yield
    }
    return new ToolIndex(tools.length, parts, sources, frequencies, families)
  }

  /**
   * The best first. It may be interrupted after each part of the index.
   * @param isVisible others are not looked at
   */
  *searching(
    text: string,
    isVisible: (tool: CompiledTool) => boolean,
    limit: number,
  ): Generator<void, readonly CompiledTool[]> {
    const query = this.#withSources(readQuery(text, this.#vocabulary))
    const ranked: Ranked[] = []
    for (const part of this.#parts) {
      ranked.push(...this.#rank(part, query, isVisible))
      yield
    }
    return ranked
      .sort((a, b) => b.score - a.score)
      .slice(0, limit)
      .map(({ compiled }) => compiled)
  }

  /** Tool sets that the request names, also in two words ("pet store"): their words say nothing else about a tool. */
  #withSources(query: Query): SourcedQuery {
    const { sequence } = query
    const said = new Set([...sequence, ...sequence.slice(1).map((word, at) => sequence[at]! + word)])
    const sources = new Set<string>()
    const words = new Map(query.words)
    const names = new Map(query.names)
    for (const [source, named] of this.#sources) {
      if (!named.every(name => said.has(name))) continue
      sources.add(source)
      for (const word of words.keys())
        if (named.some(name => name.includes(word))) {
          words.set(word, WEIGHTS.SOURCE_WORD_WEIGHT)
          // "the pets of the pet store" are pets
          if (sequence.indexOf(word) === sequence.lastIndexOf(word)) names.delete(word)
        }
    }
    return { ...query, words, names, sources }
  }

  #rank(
    { texts, entries }: Part,
    query: SourcedQuery,
    isVisible: (tool: CompiledTool) => boolean,
  ): readonly Ranked[] {
    const { actions: wanted, words, searched, sources, names, values } = query
    const found = texts.search(
      { combineWith: 'OR', queries: [...searched.keys()] },
      {
        boost: {
          name: WEIGHTS.NAME,
          path: WEIGHTS.PATH,
          summary: WEIGHTS.SUMMARY,
          description: WEIGHTS.DESCRIPTION,
          arguments: WEIGHTS.ARGUMENTS,
          tags: WEIGHTS.TAGS,
          source: WEIGHTS.SOURCE,
        },
        boostTerm: term => words.get(term) ?? searched.get(term) ?? 1,
        prefix: term => term.length > 4 && words.has(term),
        weights: { prefix: WEIGHTS.PREFIX, fuzzy: 0 },
        bm25: { k: WEIGHTS.K, b: WEIGHTS.B, d: WEIGHTS.D },
        tokenize: term => [term],
        filter: ({ id }) => isVisible(entries[id as number]!.compiled),
      },
    )
    return found.slice(0, CANDIDATES).map(({ id, score, queryTerms }) => {
      const { compiled, words: own, noun, marks } = entries[id as number]!
      const matched = new Set(queryTerms)
      const { method } = compiled.tool.request
      const action =
        wanted.size === 0
          ? method === 'GET'
            ? 1
            : WEIGHTS.NO_ACTION
          : between(WEIGHTS.OPPOSITE_ACTION, actionFit(compiled.tool, wanted))
      const source = sources.size === 0 || sources.has(compiled.tool.toolSet) ? 1 : WEIGHTS.OTHER_SOURCE
      const things = noun.places.length
      return {
        compiled,
        score:
          score ** WEIGHTS.BM25_POWER *
          source *
          action *
          (things < values ? WEIGHTS.TOO_FEW_THINGS : things > values ? WEIGHTS.TOO_MANY_THINGS : 1) *
          (marks.some(mark => !names.has(mark)) ? WEIGHTS.MARKED : 1) *
          between(WEIGHTS.OTHER_COUNT, countFit(noun, query)) *
          between(WEIGHTS.NOUN_NOT_NAMED, nounFit(noun, query)) *
          WEIGHTS.PARENT_NOT_NAMED ** unnamedParents(noun, query) *
          between(WEIGHTS.NOT_IDENTIFIED, identifiedFit(noun, query)) *
          between(WEIGHTS.NOTHING_COVERED, covered(query, matched)) *
          between(WEIGHTS.NOTHING_MEANT, this.#meant(own, query)),
      }
    })
  }

  /** How much of the words of a tool the request means; rare words count more. */
  #meant(own: ReadonlyMap<string, number>, { names }: Query): number {
    let total = 0
    let met = 0
    for (const [word, share] of own) {
      const weight = share * this.#rarityOf(word)
      total += weight
      met += weight * (names.get(word) ?? 0)
    }
    return total === 0 ? 0 : met / total
  }

  #rarityOf(word: string): number {
    let rarity = this.#rarities.get(word)
    if (rarity === undefined) {
      rarity = Math.log(1 + this.size / (this.#frequencies.get(word) ?? 1))
      this.#rarities.set(word, rarity)
    }
    return rarity
  }
}

/** From `least` at 0 to 1 at 1. */
function between(least: number, share: number): number {
  return least + (1 - least) * share
}

/** How much of the request a tool mentions. */
function covered({ words, others }: Query, matched: ReadonlySet<string>): number {
  let total = 0
  let met = 0
  for (const [word, weight] of words) {
    total += weight
    if (matched.has(word)) met += weight
    else if (isMet(others.get(word), matched)) met += weight * WEIGHTS.SYNONYM_COVERS
  }
  return total === 0 ? 0 : met / total
}

function isMet(others: ReadonlySet<string> | undefined, matched: ReadonlySet<string>): boolean {
  if (others !== undefined) for (const other of others) if (matched.has(other)) return true
  return false
}

/** Without small words; what it does counts less, where only the name says it. */
function ownWordsOf(tool: Tool): ReadonlyMap<string, number> {
  const words = new Map<string, number>()
  for (const word of wordsOf(pathOf(tool))) if (!isFiller(word) && !/^v\d/.test(word)) words.set(word, 1)
  for (const word of wordsOf(nameOf(tool)))
    if (!isFiller(word) && !words.has(word)) words.set(word, isActionWord(word) ? WEIGHTS.VERB_IN_NAME : 1)
  return words
}

function emptyTexts(): MiniSearch<Row> {
  return new MiniSearch<Row>({
    fields: FIELDS,
    tokenize: wordsOf,
    processTerm: term => term,
  })
}

function rowOf(id: number, tool: Tool): Row {
  const { description } = tool
  const end = description.search(/\. |\n/)
  const summary = end < 0 ? description : description.slice(0, end)
  const texts = {
    name: nameOf(tool),
    path: pathOf(tool),
    summary,
    description: description.slice(summary.length),
    arguments: Object.keys(tool.inputSchema.properties ?? {}).join(' '),
    tags: tool.tags.join(' '),
    source: tool.toolSet,
  }
  return {
    id,
    ...Object.fromEntries(Object.entries(texts).map(([field, text]) => [field, text.slice(0, MAX_FIELD)])),
  }
}

/** Without the hash of a shortened name. */
function nameOf({ name }: Tool): string {
  return name.replace(/_[0-9a-f]{8}$/, '')
}

function pathOf({ request }: Tool): string {
  return request.path.replace(/\{[^}]*\}/g, ' ')
}
