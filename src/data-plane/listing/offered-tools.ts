/** Applies an offer to tools: which are shown, listed, found by search or left out of the list. */

import type { MaybePromise } from '../../base/and-then.ts'
import { oncePer } from '../../base/once-per.ts'
import type { Tool } from '../../model/tool.ts'
import { countWithin } from '../../model/view-rules.ts'
import { isOffered, type Offer } from '../pipeline/offer.ts'
import type { Selection } from '../pipeline/selection.ts'
import type { CompiledTool, ListingForm, ToolListing } from '../snapshot/snapshot.ts'
import { searchTools } from './search-tools.ts'
import { definitionTokens, type ListedTool } from './tool-view.ts'

export interface OfferedTool<E extends Entry = CompiledTool> {
  readonly entry: E
  /** As the ToolView shows it. */
  readonly tool: ListedTool
}

interface Entry {
  readonly tool: Tool
}

interface Listed<E extends Entry> {
  /** With the search tools. */
  readonly all: readonly { readonly tool: ListedTool }[]
  readonly listed: readonly OfferedTool<E>[]
  /** What is neither listed nor found. */
  readonly leftOut: readonly OfferedTool<E>[]
  readonly isSearched: boolean
}

export class OfferedTools {
  /** What is listed, in its order. */
  readonly tools: readonly { readonly tool: ListedTool }[]
  readonly forms: Map<string, MaybePromise<ListingForm>>
  readonly compact: boolean
  /** What the budget of the ToolView keeps out of the list; it can be called. */
  readonly leftOut: readonly OfferedTool[]
  /** Some tools are found in place of being listed. */
  readonly isSearched: boolean
  readonly #offered: readonly OfferedTool[]
  #byName: ReadonlyMap<string, OfferedTool> | undefined
  #byEntry: ReadonlyMap<CompiledTool, OfferedTool> | undefined

  constructor(listing: ToolListing, offer: Offer) {
    const { selection } = offer
    const offered = shownTools(listing.tools, offer)
    const { all, leftOut, isSearched } = withinBudget(offered, offer)
    const isWhole = all.length === listing.tools.length && !selection.compact && offer.view === undefined
    this.compact = selection.compact
    this.#offered = offered
    this.tools = all
    this.leftOut = leftOut
    this.isSearched = isSearched
    // most callers have no selection: they share the forms of the listing
    this.forms = isWhole && !isSearched ? listing.forms : new Map()
  }

  /** Tools that the address offers, listed or not; made for those who search. */
  get byName(): ReadonlyMap<string, OfferedTool> {
    this.#byName ??= new Map(this.#offered.map(offered => [offered.tool.name, offered]))
    return this.#byName
  }

  get byEntry(): ReadonlyMap<CompiledTool, OfferedTool> {
    this.#byEntry ??= new Map(this.#offered.map(offered => [offered.entry, offered]))
    return this.#byEntry
  }
}

/** Further selections of a listing are made for each request. */
const MAX_SELECTIONS = 64
/** One per listing, so that the serialized forms are made once for all callers of its class. */
const offersOf = oncePer((_: ToolListing) => new Map<string, OfferedTools>())

export function offeredTools(listing: ToolListing, offer: Offer): OfferedTools {
  const ofListing = offersOf(listing)
  const made = ofListing.get(offer.key)
  if (made !== undefined) return made
  const offered = new OfferedTools(listing, offer)
  if (ofListing.size < MAX_SELECTIONS) ofListing.set(offer.key, offered)
  return offered
}

/** The tools that are offered, in their order, as the ToolView shows them. */
export function shownTools<E extends Entry>(entries: readonly E[], offer: Offer): readonly OfferedTool<E>[] {
  const { view } = offer
  const offered = entries.filter(({ tool }) => isOffered(tool, offer))
  if (view === undefined) return offered.map(entry => ({ entry, tool: entry.tool }))
  offered.sort((a, b) => view.compare(a.tool.name, b.tool.name))
  return offered.map(entry => ({ entry, tool: view.shown(entry.tool) }))
}

/** What of them is listed. A list that the client asked for in full has no budget. */
export function withinBudget<E extends Entry>(
  offered: readonly OfferedTool<E>[],
  { selection, view }: Offer,
): Listed<E> {
  const { tokenBudget, overBudget } = view?.view ?? {}
  const wanted = offered.filter(({ entry }) => isListed(entry.tool.listing, selection))
  const hasSearched = wanted.length < offered.length
  if (!hasSearched && (tokenBudget === undefined || selection.tools === 'list'))
    return { all: wanted, listed: wanted, leftOut: [], isSearched: false }
  const search = searchTools(offered.map(({ entry }) => entry.tool))
  if (tokenBudget === undefined)
    return { all: withSearch(wanted, search, view), listed: wanted, leftOut: [], isSearched: true }
  const costOf = (tool: ListedTool) => definitionTokens(tool, selection.compact)
  const searchCost = search.reduce((sum, tool) => sum + costOf(tool), 0)
  const searches = hasSearched || overBudget === 'search'
  const budget = tokenBudget - (hasSearched ? searchCost : 0)
  const count = countWithin(costsOf(wanted, costOf), budget, searches && !hasSearched ? searchCost : 0)
  if (count === 'all' && !hasSearched) return { all: wanted, listed: wanted, leftOut: [], isSearched: false }
  const listed = count === 'all' ? wanted : wanted.slice(0, count)
  return searches
    ? { all: withSearch(listed, search, view), listed, leftOut: [], isSearched: true }
    : { all: listed, listed, leftOut: wanted.slice(listed.length), isSearched: false }
}

function* costsOf(
  entries: readonly { readonly tool: ListedTool }[],
  costOf: (tool: ListedTool) => number,
): Generator<number> {
  for (const { tool } of entries) yield costOf(tool)
}

function isListed(listing: 'search' | undefined, { tools }: Selection): boolean {
  return tools === 'list' || (tools === undefined && listing !== 'search')
}

/** A tool of the name of a search tool can be called through `call_tool` alone. */
function withSearch(
  listed: readonly { readonly tool: ListedTool }[],
  search: readonly ListedTool[],
  view: Offer['view'],
): OfferedTools['tools'] {
  const names = new Set(search.map(({ name }) => name))
  const all = [...search.map(tool => ({ tool })), ...listed.filter(({ tool }) => !names.has(tool.name))]
  // a view keeps its order, and the search tools come first
  return view === undefined ? all.sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1)) : all
}
