/** The metadata of a resource that its readers need. */

export interface ResourceMeta {
  readonly name: string
  readonly namespace: string
  /** Value of the annotation `<api_group>/accepted-spec-hash`. */
  readonly acceptedSpecHash?: string
}
