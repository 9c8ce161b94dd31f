/** A ToolView as plain data, its status, and figures of its list. `view-rules.ts` applies it. */
import type { Condition } from './tool-set.ts'

/** What a model sees of one tool in place of what the tool says. */
export interface ToolChange {
  /** Name of the tool in the catalog. */
  readonly tool: string
  readonly name?: string
  readonly title?: string
  readonly description?: string
}

/** Callers that get the view without naming it. All fields given must agree. */
export interface ViewBinding {
  readonly consumer?: string
  readonly role?: string
  readonly tenant?: string
}

export interface ViewIcon {
  readonly src: string
  readonly mimeType?: string
  readonly sizes?: readonly string[]
}

/** Empty lists select everything; all that are given must agree. `*` in a name stands for any characters. */
export interface ViewSelection {
  readonly toolSets: readonly string[]
  /** A tool has one of them. */
  readonly tags: readonly string[]
  /** Names and patterns of tools in the catalog. */
  readonly tools: readonly string[]
  readonly exclude: readonly string[]
}

export interface ToolView {
  readonly name: string
  /** `tenant-{name}` or `platform`. */
  readonly namespace: string
  /** Tenant whose callers may use it; null = all. */
  readonly tenant: string | null
  readonly title?: string
  readonly description?: string
  readonly instructions?: string
  readonly websiteUrl?: string
  readonly icons?: readonly ViewIcon[]
  readonly select: ViewSelection
  readonly changes: readonly ToolChange[]
  /** Names and patterns of tools in the catalog; the others follow in name order. */
  readonly order: readonly string[]
  /** Token budget of the definitions that a list holds. */
  readonly tokenBudget?: number
  /** Over budget of the tools that exceed the budget: they are searched for, or left out of the list. */
  readonly overBudget: 'search' | 'leaveOut'
  readonly bindings: readonly ViewBinding[]
}

export interface ToolViewStatus {
  readonly phase: 'Ready' | 'Error'
  /** Tools that the view offers, before the policy of a caller. */
  readonly toolCount: number
  /** Names as models see them, in the order of the list. */
  readonly tools: readonly string[]
  /** Estimate for the whole list, without a budget. */
  readonly tokens: number
  readonly tokenBudget?: number
  /** Tools that do not fit into the budget. */
  readonly leftOut?: readonly string[]
  readonly lastError?: string
  readonly conditions: readonly Condition[]
}

/** What a view would list, and what that costs a model. */
export interface ViewFigures {
  /** Names as models see them, in the order of the list, without the search tools. */
  readonly tools: readonly string[]
  /** For them, what the list does not hold. */
  readonly unlisted: readonly string[]
  /** Tokens of the definitions of all tools. */
  readonly tokens: number
  /** Listed tokens of the list. */
  readonly listedTokens: number
  /** What is not listed is found by search. */
  readonly isSearched: boolean
}
