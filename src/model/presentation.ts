/** How the gateway presents itself to MCP clients and registries, as plain data. */

/** All of it is optional. */
export interface Presentation {
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly websiteUrl?: string | undefined
  readonly iconUrl?: string | undefined
  /** For the model: what the tools are for, and how to use them. */
  readonly instructions?: string | undefined
}
