/** Indexes tools, and finds and ranks those that fit a request. */
import MiniSearch from 'minisearch'
import type { Tool } from '../../../model/tool.ts'
import type { CompiledTool } from '../../snapshot/snapshot.ts'
import { type Action, actionFit, actionsOf, isActionWord } from './actions.ts'
import { isFiller, wordsOf } from './words.ts'

const FIELDS = ['name', 'path', 'summary', 'description', 'arguments', 'tags', 'source']
/** Characters of one field that are indexed. */
const MAX_FIELD = 600
/** Tools that are searched in one turn of the event loop. */
const PART_SIZE = 2_000
const MAX_QUERY_WORDS = 24
/** For each part, ranked a second time. */
const CANDIDATES = 80
/** How much a word counts in each field of a tool: descriptions mention much that the tool does not do. */
const BOOST = { name: 2, path: 2, summary: 3.5, description: 0.3, arguments: 0.5, tags: 0.6, source: 0.6 }
/** BM25: growth with repetitions, influence of the length, least of a match. */
const BM25 = { k: 1.5, b: 0.87, d: 0.22 }
/** A verb is compared by `actionFit`, so its word counts less; also in names: "list" says little about a tool. */
const VERB_WEIGHT = 0.5
/** Shares of the score left to a tool that does the opposite, that mentions nothing of the request, of whose name and path the request says nothing. */
const OPPOSITE_ACTION = 0.24
const NOTHING_COVERED = 0.1
const NOTHING_MEANT = 0.5

interface Entry {
  readonly compiled: CompiledTool
  /** For name and path; how much each counts without its frequency. */
  readonly words: ReadonlyMap<string, number>
}

interface Part {
  readonly texts: MiniSearch<Row>
  readonly entries: Entry[]
}

interface Row {
  readonly id: number
  readonly [field: string]: string | number
}

interface Query {
  /** Words of the request and how much each counts, at most 1. */
  readonly words: ReadonlyMap<string, number>
  /** What it wants to do; empty when it does not say it. */
  readonly actions: ReadonlySet<Action>
}

interface Ranked {
  readonly compiled: CompiledTool
  readonly score: number
}

export class ToolIndex {
  readonly size: number
  readonly #parts: readonly Part[]
  /** Word → how many tools have it in name, path or summary. */
  readonly #frequencies: ReadonlyMap<string, number>

  private constructor(size: number, parts: readonly Part[], frequencies: ReadonlyMap<string, number>) {
    this.size = size
    this.#parts = parts
    this.#frequencies = frequencies
  }

  /** Yields after each tool. */
  static *buildSteps(tools: readonly CompiledTool[]): Generator<void, ToolIndex> {
    const count = Math.max(1, Math.ceil(tools.length / PART_SIZE))
    const parts = Array.from({ length: count }, (): Part => ({ texts: emptyTexts(), entries: [] }))
    const frequencies = new Map<string, number>()
    for (const [at, compiled] of tools.entries()) {
      const { tool } = compiled
      // dealt out in turn, so that words are about as frequent in each part
      const part = parts[at % count]!
      const row = rowOf(part.entries.length, tool)
      part.texts.add(row)
      part.entries.push({ compiled, words: ownWordsOf(tool) })
      for (const word of new Set(wordsOf(`${row.name} ${row.path} ${row.summary}`)))
        frequencies.set(word, (frequencies.get(word) ?? 0) + 1)
      yield
    }
    return new ToolIndex(tools.length, parts, frequencies)
  }

  /**
   * The best first. It may be interrupted after each part of the index.
   * @param isVisible others are not looked at
   */
  *searchSteps(
    text: string,
    isVisible: (tool: CompiledTool) => boolean,
    limit: number,
  ): Generator<void, readonly CompiledTool[]> {
    const query = readQuery(text)
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

  #rank(
    { texts, entries }: Part,
    query: Query,
    isVisible: (tool: CompiledTool) => boolean,
  ): readonly Ranked[] {
    const { actions, words } = query
    const found = texts.search(
      { combineWith: 'OR', queries: [...words.keys()] },
      {
        boost: BOOST,
        boostTerm: term => words.get(term) ?? 1,
        prefix: term => term.length > 4,
        weights: { prefix: 0.3, fuzzy: 0 },
        bm25: BM25,
        tokenize: term => [term],
        filter: ({ id }) => isVisible(entries[id as number]!.compiled),
      },
    )
    return found.slice(0, CANDIDATES).map(({ id, score, queryTerms }) => {
      const { compiled, words: own } = entries[id as number]!
      return {
        compiled,
        score:
          score *
          (actions.size === 0 ? 1 : between(OPPOSITE_ACTION, actionFit(compiled.tool, actions))) *
          between(NOTHING_COVERED, coveredWeight(query, new Set(queryTerms))) *
          between(NOTHING_MEANT, this.#meant(own, query)),
      }
    })
  }

  /** How much of the words of a tool the request means; rare words count more. */
  #meant(own: ReadonlyMap<string, number>, { words }: Query): number {
    let total = 0
    let met = 0
    for (const [word, share] of own) {
      const weight = share * Math.log(1 + this.size / (this.#frequencies.get(word) ?? 1))
      total += weight
      if (words.has(word)) met += weight
    }
    return total === 0 ? 0 : met / total
  }
}

function readQuery(text: string): Query {
  const sequence = wordsOf(text)
  const words = new Map<string, number>()
  for (const word of sequence)
    if (words.size < MAX_QUERY_WORDS && !isFiller(word)) words.set(word, isActionWord(word) ? VERB_WEIGHT : 1)
  return { words, actions: actionsOf(sequence) }
}

/** From `least` at 0 to 1 at 1. */
function between(least: number, share: number): number {
  return least + (1 - least) * share
}

/** How much of the request a tool mentions. */
function coveredWeight({ words }: Query, matched: ReadonlySet<string>): number {
  let total = 0
  let met = 0
  for (const [word, weight] of words) {
    total += weight
    if (matched.has(word)) met += weight
  }
  return total === 0 ? 0 : met / total
}

/** Without small words; what it does counts less, where only the name says it. */
function ownWordsOf(tool: Tool): ReadonlyMap<string, number> {
  const words = new Map<string, number>()
  for (const word of wordsOf(pathOf(tool))) if (!isFiller(word) && !/^v\d/.test(word)) words.set(word, 1)
  for (const word of wordsOf(nameOf(tool)))
    if (!isFiller(word) && !words.has(word)) words.set(word, isActionWord(word) ? VERB_WEIGHT : 1)
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
