/** The interface of the API server for the Kubernetes source and the gateway objects. It contains no vendor types; `client.ts` implements it. */

import type { KeyReference } from '../../model/tool-set.ts'

export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    /** Changes with the spec. */
    readonly generation?: number
    readonly finalizers?: readonly string[]
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

export type Plural = 'toolsets' | 'tools' | 'toolviews' | 'gatewayinstances' | 'gatewaybindings'

/** All objects of a kind, kept current by a watch that is reopened after errors. */
export interface WatchedKind {
  /** Resolves with the first list, or when closed before. Until then, an empty `list` has no meaning. */
  readonly listed: Promise<void>
  /** The current objects, in no particular order. */
  list(): readonly KubeObject[]
  close(): Promise<void>
}

/** The fields of a Lease (coordination.k8s.io/v1) that an election needs. */
export interface LeaseRecord {
  readonly holder: string
  readonly durationSeconds: number
  /** Changes with every write; '' when the Lease does not exist. */
  readonly resourceVersion: string
}

export interface KubernetesApi {
  watch(plural: Plural, onChange: () => void): WatchedKind
  /** Why the cluster has no objects of this kind to watch: no definition, or no right; undefined: it has. @throws Error when it does not respond */
  whyNotServed(plural: Plural): Promise<string | undefined>
  /** The values of the keys. @throws Error that names the object that cannot be read */
  readKeys(
    kind: 'ConfigMap' | 'Secret',
    namespace: string,
    name: string,
  ): Promise<{ readonly [key: string]: string }>
  /** False when the object exists already. @throws Error when it cannot be created, such as in a namespace that does not exist */
  create(plural: Plural, object: KubeObject): Promise<boolean>
  /** False when the object has changed or does not exist; `remove` as well. */
  replace(plural: Plural, object: KubeObject): Promise<boolean>
  remove(plural: Plural, namespace: string, name: string): Promise<boolean>
  /** Merges into the status subresource; a deleted object is not an error. */
  writeStatus(plural: Plural, namespace: string, name: string, status: object): Promise<void>
  readLease(namespace: string, name: string): Promise<LeaseRecord>
  /** Creates or replaces the Lease; false when it conflicts with another write. @throws Error when the namespace does not exist */
  writeLease(namespace: string, name: string, record: LeaseRecord): Promise<boolean>
  /** For a process that ends: requests in flight get 0.3 s more, and later ones 0.3 s each, so that an API server that hangs does not delay it. */
  endSoon(): void
}

/** The value of a key, and all keys of the object. @throws Error that names the object or the key that cannot be read */
export async function readKey(
  api: Pick<KubernetesApi, 'readKeys'>,
  kind: 'ConfigMap' | 'Secret',
  namespace: string,
  { name, key }: KeyReference,
): Promise<{ readonly value: string; readonly keys: { readonly [key: string]: string } }> {
  const keys = await api.readKeys(kind, namespace, name)
  const value = keys[key]
  if (value === undefined) throw new Error(`${kind} ${namespace}/${name} has no key ${key}`)
  return { value, keys }
}
