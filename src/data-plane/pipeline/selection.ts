/** The selection of tools for a request, and how they are listed. */

export interface Selection {
  /** Name of the one tool set that is offered, or of a ToolView (`offer.ts`). */
  readonly toolSet: string | undefined
  /** Offered tools have one of them; empty: all tools. */
  readonly tags: readonly string[]
  /** `search`: no tool is listed, all are found; `list`: all are listed. undefined: as each tool set says. */
  readonly tools: 'search' | 'list' | undefined
  /** Descriptions end after their first sentences. */
  readonly compact: boolean
  /** Equal for equal selections; '' for the address without one. */
  readonly key: string
}

export const EVERYTHING: Selection = Object.freeze({
  toolSet: undefined,
  tags: Object.freeze([]),
  tools: undefined,
  compact: false,
  key: '',
})
