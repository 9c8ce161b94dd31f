/** What the Kubernetes source needs of an API server. No vendor types: `client.ts` implements it. */

export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly creationTimestamp?: string
    readonly annotations?: { readonly [name: string]: string }
    readonly labels?: { readonly [name: string]: string }
    readonly ownerReferences?: readonly {
      readonly uid: string
      readonly kind: string
      readonly name: string
    }[]
  }
  readonly spec?: { readonly [field: string]: unknown }
  readonly status?: { readonly [field: string]: unknown }
}

export type Plural = 'toolsets' | 'tools'

/** All objects of a kind, kept up to date by a watch that is opened again whenever it breaks. */
export interface Watched {
  /** Resolves with the first list, or when it is closed before: nothing may be concluded from an API server that is away. */
  readonly listed: Promise<void>
  /** As of now, in no order. */
  list(): readonly KubeObject[]
  close(): Promise<void>
}

/** One Lease (coordination.k8s.io/v1), as far as an election needs it. */
export interface LeaseRecord {
  readonly holder: string
  readonly durationSeconds: number
  /** Changes with every write; '' when the Lease does not exist. */
  readonly resourceVersion: string
}

export interface KubernetesApi {
  watch(plural: Plural, onChange: () => void): Watched
  /** @throws Error that names what is missing */
  readKey(kind: 'ConfigMap' | 'Secret', namespace: string, name: string, key: string): Promise<string>
  /** Writes conflict when somebody else was faster: false then, true when written. */
  create(plural: Plural, object: KubeObject): Promise<boolean>
  replace(plural: Plural, object: KubeObject): Promise<boolean>
  remove(plural: Plural, namespace: string, name: string): Promise<boolean>
  /** Merges into the status subresource; an object that is gone is no error. */
  writeStatus(plural: Plural, namespace: string, name: string, status: object): Promise<void>
  readLease(namespace: string, name: string): Promise<LeaseRecord>
  /** Creates or replaces the Lease; false when somebody else was faster. */
  writeLease(namespace: string, name: string, record: LeaseRecord): Promise<boolean>
}
