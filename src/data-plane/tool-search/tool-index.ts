/** A set of tools, searchable in the words of a user: BM25 over weighted fields, then what the request does, names and leaves out. It lists and calls nothing. */
import MiniSearch from 'minisearch'
import type { Tool } from '../../model/tool.ts'
import type { CompiledTool } from '../snapshot/snapshot.ts'
import { actionFit, actionsOfQuery } from './actions.ts'
import { countFit, nounFit, type PathNoun, pathNounOf } from './path-noun.ts'
import { type Query, readQuery } from './query.ts'
import { synonymsOf } from './synonyms.ts'
import { wordsOf } from './words.ts'

/** How much a word counts in each field. */
const BOOST = {
  name: 2.1,
  path: 1.65,
  summary: 2.2,
  description: 0.9,
  arguments: 0.5,
  tags: 0.6,
  source: 0.6,
}
/** Characters of one field that are indexed. */
const MAX_FIELD = 600
/** Tools that are searched in one turn of the event loop. */
const PART_SIZE = 2_000
/** Of each part, ranked a second time. */
const CANDIDATES = 80
/** Share of the score of a tool that does the opposite, that belongs to another source than the one named, that leaves out all words. */
const OPPOSITE_ACTION = 0.25
const OTHER_SOURCE = 0.25
/** Of a tool that returns one thing where several are asked for, or the reverse. */
const OTHER_COUNT = 0.65
/** Of a tool for a thing that the request does not name. */
const NOUN_NOT_NAMED = 0.8
const NOTHING_COVERED = 0.6
/** Share of the score of a tool of whose name and path the request says nothing. */
const NOTHING_MEANT = 0.45
const SYNONYM_COVERS = 0.45
const SOURCE_WORD_WEIGHT = 0.2

interface Entry {
  readonly compiled: CompiledTool
  /** Of name and path. */
  readonly words: ReadonlySet<string>
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

  private constructor(size: number, parts: readonly Part[], sources: ReadonlyMap<string, readonly string[]>) {
    this.size = size
    this.#parts = parts
    this.#sources = sources
  }

  /** It may be interrupted after each tool. */
  static *building(tools: readonly CompiledTool[]): Generator<void, ToolIndex> {
    const count = Math.max(1, Math.ceil(tools.length / PART_SIZE))
    const parts = Array.from({ length: count }, (): Part => ({ texts: emptyTexts(), entries: [] }))
    const sources = new Map<string, readonly string[]>()
    for (const [at, compiled] of tools.entries()) {
      const { tool } = compiled
      // dealt out in turn, so that words are about as frequent in each part
      const part = parts[at % count]!
      part.texts.add(rowOf(part.entries.length, tool))
      part.entries.push({
        compiled,
        words: new Set(wordsOf(`${nameOf(tool)} ${pathOf(tool)}`)),
        noun: pathNounOf(tool),
      })
      if (!sources.has(tool.toolSet)) sources.set(tool.toolSet, wordsOf(tool.toolSet))
      yield
    }
    return new ToolIndex(tools.length, parts, sources)
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
    const query = this.#withSources(readQuery(text))
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
    for (const [source, names] of this.#sources) {
      if (!names.every(name => said.has(name))) continue
      sources.add(source)
      for (const word of words.keys())
        if (names.some(name => name.includes(word))) words.set(word, SOURCE_WORD_WEIGHT)
    }
    return { ...query, words, sources }
  }

  #rank(
    { texts, entries }: Part,
    query: SourcedQuery,
    isVisible: (tool: CompiledTool) => boolean,
  ): readonly Ranked[] {
    const { words, terms, sources, counts } = query
    const wanted = actionsOfQuery(query.sequence)
    const found = texts.search(
      { combineWith: 'OR', queries: [...terms.keys()] },
      {
        boost: BOOST,
        boostTerm: term => words.get(term) ?? terms.get(term) ?? 1,
        prefix: term => term.length > 4,
        weights: { prefix: 0.3, fuzzy: 0 },
        bm25: { k: 1.9, b: 0.87, d: 0.22 },
        tokenize: term => [term],
        filter: ({ id }) => isVisible(entries[id as number]!.compiled),
      },
    )
    return found.slice(0, CANDIDATES).map(({ id, score, queryTerms }) => {
      const { compiled, words: own, noun } = entries[id as number]!
      const matched = new Set(queryTerms)
      const action = wanted.size === 0 ? 1 : actionFit(compiled.tool, wanted)
      const source = sources.size === 0 || sources.has(compiled.tool.toolSet) ? 1 : OTHER_SOURCE
      return {
        compiled,
        score:
          score *
          source *
          between(OPPOSITE_ACTION, action) *
          between(OTHER_COUNT, countFit(noun, counts)) *
          between(NOUN_NOT_NAMED, nounFit(noun, words, terms)) *
          between(NOTHING_COVERED, covered(words, matched)) *
          between(NOTHING_MEANT, shareOf(own, matched)),
      }
    })
  }
}

/** From `least` at 0 to 1 at 1. */
function between(least: number, share: number): number {
  return least + (1 - least) * share
}

/** How much of the request a tool mentions. */
function covered(words: ReadonlyMap<string, number>, matched: ReadonlySet<string>): number {
  let total = 0
  let met = 0
  for (const [word, weight] of words) {
    total += weight
    if (matched.has(word)) met += weight
    else if ([...synonymsOf(word)].some(other => matched.has(other))) met += weight * SYNONYM_COVERS
  }
  return total === 0 ? 0 : met / total
}

function shareOf(own: ReadonlySet<string>, matched: ReadonlySet<string>): number {
  let met = 0
  for (const word of own) if (matched.has(word)) met++
  return own.size === 0 ? 0 : met / own.size
}

function emptyTexts(): MiniSearch<Row> {
  return new MiniSearch<Row>({
    fields: Object.keys(BOOST),
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
