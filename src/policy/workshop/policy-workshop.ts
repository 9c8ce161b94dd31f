/** The interface through which the control plane uses the policy of its process and drafts of it. */

/** Path → text of rego modules, tests and data documents. */
export type DraftFiles = Readonly<Record<string, string>>

/** What to do with a draft besides compiling it. */
export interface DraftQuestion {
  /** Absent: the policy in force. */
  readonly files?: DraftFiles | undefined
  /** Input of one decision. */
  readonly input?: unknown
  /** How many recorded decisions are made again. */
  readonly decisions: number
}

/** The policy of this process, and drafts of it; objects are JSON as the OpenAPI document describes it. */
export interface PolicyWorkshop {
  status(): Promise<object>
  /** undefined: too many drafts are being compiled. @throws Error with what the caller has to change */
  check(question: DraftQuestion): Promise<object | undefined>
  /** Revision of the bundle in force. */
  readonly revision: string
  /** Whether a draft of this revision was compiled here of late. */
  hasDraft(revision: string): boolean
  /** Why it was not done; undefined when it was. */
  shadow(revision: string): Promise<string | undefined>
  /** Why the revision cannot be promoted now; undefined when it can. */
  obstacle(revision: string): Promise<string | undefined>
  /** Why it was not done; undefined when it was. */
  promote(revision: string): Promise<string | undefined>
  /** Whether `rollBack` has the bundle of this revision. */
  isKept(revision: string): Promise<boolean>
  /** Why it was not done; undefined when it was. */
  rollBack(revision: string): Promise<string | undefined>
}
