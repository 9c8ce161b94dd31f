/** Changes of the tools of an MCP server that wait until the owner of the server accepts them, and their bounds. */

export interface DefinitionChange {
  /** Name on the server. */
  readonly tool: string
  /** Field of the definition, such as `description` or `annotations.readOnlyHint`. */
  readonly field: string
  /** As it is served; a schema is JSON text; null: absent. */
  readonly before: string | null
  /** As the server sends it; null: absent. */
  readonly after: string | null
}

export interface PendingDefinitions {
  /** SHA-256 of the list that the server sends, which an acceptance names. */
  readonly specHash: string
  readonly changes: readonly DefinitionChange[]
  /** Changes that are not listed. */
  readonly more: number
  /** Changed texts that may instruct models. */
  readonly findings: readonly string[]
}

/** As the control plane and the admin endpoints show them. */
export function wirePending({ specHash, ...pending }: PendingDefinitions): object {
  return { spec_hash: specHash, ...pending }
}

export const MAX_FINDINGS = 50
export const MAX_FINDING_CHARS = 400
export const MAX_LISTED_CHANGES = 50
/** All listed values together. */
export const MAX_LISTED_CHARS = 50_000
export const MAX_NAME_CHARS = 256
/** More than models see of a description. */
export const MAX_SHOWN_CHARS = 4_000
