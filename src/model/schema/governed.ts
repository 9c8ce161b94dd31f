/** Marks fields that not every member of a tenant may change, with the action that the policy is asked about. */

/** Name in the metadata of a field; the served document says in its place what the action needs. */
export const GOVERNED = 'x-governed'

export interface GovernedField {
  /** `control.<resource>.govern` */
  readonly action: string
  /** Subject of the sentence `… needs the scope …`; absent: a change. */
  readonly change?: string
}

/** @returns metadata for `.openapi()` */
export function governed(action: string, change?: string): { readonly [GOVERNED]: GovernedField } {
  return { [GOVERNED]: change === undefined ? { action } : { action, change } }
}

/** For an address to which the gateway sends a credential. */
export const CREDENTIAL_TARGET = governed(
  'control.apis.govern',
  'If `mcp` names a credential or `traffic.request_headers` sets a header, a change',
)
