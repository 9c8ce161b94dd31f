/** Makes, caches and evicts the search indexes of tools by tenant. */
import { beginInSlices } from '../../../base/async/slices.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { ToolIndex } from './tool-index.ts'

/** Tools in all indexes of a thread, at about 6 KB each; the index in use may be larger by itself. */
const MAX_INDEXED_TOOLS = 20_000

type Tools = ReturnType<Snapshot['toolsOf']>

interface Known {
  readonly tools: Tools
  readonly index: Promise<ToolIndex>
}

export class ToolIndexes {
  /** By tenant, '' for those without tools; in the order of their last use. */
  readonly #known = new Map<string, Known>()
  readonly #maxTools: number

  constructor(maxTools = MAX_INDEXED_TOOLS) {
    this.#maxTools = maxTools
  }

  /** A snapshot whose tools did not change has the same index as the one before. */
  of(snapshot: Snapshot, tenant: string | undefined): Promise<ToolIndex> {
    const tools = snapshot.toolsOf(tenant)
    const key = tenant === undefined || tools === snapshot.toolsOf(undefined) ? '' : tenant
    const known = this.#known.get(key)
    const entry = known?.tools === tools ? known : this.#begin(key, tools)
    this.#known.delete(key)
    this.#known.set(key, entry)
    this.#evict()
    return entry.index
  }

  #begin(key: string, tools: Tools): Known {
    const index = build(tools)
    index.catch(() => this.#known.delete(key))
    return { tools, index }
  }

  #evict(): void {
    let total = 0
    for (const { tools } of this.#known.values()) total += tools.size
    for (const [key, { tools }] of this.#known) {
      if (total <= this.#maxTools || this.#known.size === 1) return
      this.#known.delete(key)
      total -= tools.size
    }
  }
}

/** MiniSearch is loaded when a client first searches. */
async function build(tools: Tools): Promise<ToolIndex> {
  const { ToolIndex } = await import('./tool-index.ts')
  return beginInSlices(ToolIndex.buildSteps([...tools.values()]))
}
