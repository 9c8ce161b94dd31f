/** The list that a caller gets at one address: its tools as far as the address offers them, and the search tools in place of those that are not listed. It decides about no call. */
import type { MaybePromise } from '../../shared/call/and-then.ts'
import { isOffered, type Selection } from '../pipeline/selection.ts'
import type { CompiledTool, ListingForm, ToolListing } from '../snapshot/snapshot.ts'
import { searchTools } from './search-tools.ts'
import type { ListedTool } from './tool-view.ts'

export class OfferedTools {
  /** What is listed, in name order. */
  readonly tools: readonly { readonly tool: ListedTool }[]
  readonly forms: Map<string, MaybePromise<ListingForm>>
  readonly compact: boolean
  readonly #offered: readonly CompiledTool[]
  #byName: ReadonlyMap<string, CompiledTool> | undefined

  constructor(listing: ToolListing, selection: Selection) {
    const offered = listing.tools.filter(({ tool }) => isOffered(tool, selection))
    const listed = offered.filter(({ tool }) => isListed(tool.listing, selection))
    const isWhole = listed.length === listing.tools.length && !selection.compact
    this.compact = selection.compact
    this.#offered = offered
    this.tools = listed.length === offered.length ? listed : withSearch(listed, offered)
    // most callers have no selection: they share the forms of the listing
    this.forms = isWhole ? listing.forms : new Map()
  }

  /** Tools that the address offers, listed or not; made for those who search. */
  get byName(): ReadonlyMap<string, CompiledTool> {
    this.#byName ??= new Map(this.#offered.map(entry => [entry.tool.name, entry]))
    return this.#byName
  }
}

/** Further selections of a listing are made for each request. */
const MAX_SELECTIONS = 64
/** One per listing, so that the serialized forms are made once for all callers of its class. */
const known = new WeakMap<ToolListing, Map<string, OfferedTools>>()

export function offeredTools(listing: ToolListing, selection: Selection): OfferedTools {
  const ofListing = known.get(listing) ?? new Map<string, OfferedTools>()
  known.set(listing, ofListing)
  const made = ofListing.get(selection.key)
  if (made !== undefined) return made
  const offer = new OfferedTools(listing, selection)
  if (ofListing.size < MAX_SELECTIONS) ofListing.set(selection.key, offer)
  return offer
}

function isListed(listing: 'search' | undefined, { tools }: Selection): boolean {
  return tools === 'list' || (tools === undefined && listing !== 'search')
}

/** A tool of the name of a search tool can be called through `call_tool` alone. */
function withSearch(
  listed: readonly CompiledTool[],
  offered: readonly CompiledTool[],
): OfferedTools['tools'] {
  const search = searchTools(offered.map(({ tool }) => tool))
  const names = new Set(search.map(({ name }) => name))
  const all = [...search.map(tool => ({ tool })), ...listed.filter(({ tool }) => !names.has(tool.name))]
  return all.sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
}
