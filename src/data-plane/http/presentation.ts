/** How an operator wants the gateway to be shown to clients and registries. Types only. */

/** All of it is optional. */
export interface Presentation {
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly websiteUrl?: string | undefined
  readonly iconUrl?: string | undefined
  /** For the model: what the tools are for, and how to use them. */
  readonly instructions?: string | undefined
}
