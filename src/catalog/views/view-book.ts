/** Turns desired ToolViews into the served ones, and writes their status. */

import { SerialQueue } from '../../base/async/serial-queue.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolView, ToolViewStatus, ViewFigures } from '../../model/tool-view.ts'
import type { Log } from '../../telemetry/log.ts'
import { keyOf, type ResourceName } from '../sync/resource-key.ts'
import { viewStatus } from './view-status.ts'

/** One desired view. `fault`: its resource is invalid, and the view is the last valid one, if any. */
export interface DesiredView extends ResourceName {
  readonly view: ToolView | undefined
  readonly fault: string | undefined
}

/** What the gateway would list of the tools. */
export type ViewReview = (view: ToolView, tools: readonly Tool[]) => Promise<ViewFigures>

export interface ViewStatusWriter {
  /** An error is logged only. */
  write(view: ResourceName, status: ToolViewStatus): Promise<void>
  remove(view: ResourceName): Promise<void>
}

interface ViewBookParts {
  readonly review: ViewReview
  readonly statuses: ViewStatusWriter
  readonly log: Log
  /** Unix ms. */
  readonly now: () => number
}

interface Entry extends ResourceName {
  /** The last valid one. */
  readonly view: ToolView | undefined
  readonly fault: string | undefined
  status: ToolViewStatus | undefined
}

export class ViewBook {
  readonly #parts: ViewBookParts
  #entries = new Map<string, Entry>()
  #served: readonly ToolView[] = []
  readonly #reports = new SerialQueue()

  constructor(parts: ViewBookParts) {
    this.#parts = parts
  }

  /** The same list while nothing changes. */
  get served(): readonly ToolView[] {
    return this.#served
  }

  /** Replaces the desired views. @returns whether others are served */
  want(desired: readonly DesiredView[], toolSets: readonly ResourceName[]): boolean {
    const named = new Set(toolSets.map(keyOf))
    const before = this.#entries
    this.#entries = new Map(
      desired.map(wanted => {
        const key = keyOf(wanted)
        const { view: last, status } = before.get(key) ?? {}
        const { namespace, name, view = last } = wanted
        const fault = wanted.fault ?? nameFault(wanted, named)
        if (fault !== undefined)
          this.#parts.log.warn({ namespace, tool_view: name, reason: fault }, 'a ToolView cannot be used')
        const isTaken = nameFault(wanted, named) !== undefined
        return [key, { namespace, name, view: isTaken ? undefined : view, fault, status }]
      }),
    )
    for (const [key, entry] of before)
      if (!this.#entries.has(key))
        void this.#reports.run(() => this.#write(() => this.#parts.statuses.remove(entry)))
    const served = [...this.#entries.values()]
      .flatMap(({ view }) => (view === undefined ? [] : [view]))
      // of equal content on every instance, whichever resource came first
      .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
    if (writeJson(served) === writeJson(this.#served)) return false
    this.#served = served
    return true
  }

  /** Writes the statuses that changed. */
  async report(tools: readonly Tool[]): Promise<void> {
    await this.#reports.run(async () => {
      for (const entry of this.#entries.values()) {
        const { view, fault } = entry
        const figures = view === undefined ? undefined : await this.#parts.review(view, tools)
        const status = viewStatus({ view, fault, figures, tools }, entry.status, this.#parts.now())
        if (writeJson(status) === (entry.status && writeJson(entry.status))) continue
        entry.status = status
        await this.#write(() => this.#parts.statuses.write(entry, status))
      }
    })
  }

  /** Writes every status again, for a writer that could not write before. */
  async reportAll(): Promise<void> {
    await this.#reports.run(async () => {
      for (const entry of this.#entries.values()) {
        const { status } = entry
        if (status !== undefined) await this.#write(() => this.#parts.statuses.write(entry, status))
      }
    })
  }

  statuses(): readonly (ResourceName & { readonly status: ToolViewStatus })[] {
    return [...this.#entries.values()].flatMap(({ namespace, name, status }) =>
      status === undefined ? [] : [{ namespace, name, status }],
    )
  }

  async close(): Promise<void> {
    await this.#reports.drain()
  }

  async #write(write: () => Promise<void>): Promise<void> {
    await write().catch(error =>
      this.#parts.log.error({ err: error }, 'the status of a ToolView could not be written'),
    )
  }
}

/** `/mcp/{name}` must mean one thing to every caller. A ToolSet of one tenant does not take the name of a view for all. */
function nameFault({ namespace, name }: ResourceName, toolSets: ReadonlySet<string>): string | undefined {
  const taken = [namespace, 'platform'].find(other => toolSets.has(keyOf({ namespace: other, name })))
  return taken === undefined
    ? undefined
    : `ToolSet ${taken}/${name} has the same name as this view, and /mcp/${name} can lead to only one of them: rename the view`
}
