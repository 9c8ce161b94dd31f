/** The name and the key of a resource, and the name of a file for it. Pure. */
import { createHash } from 'node:crypto'

export interface ResourceName {
  readonly namespace: string
  readonly name: string
}

export function keyOf({ namespace, name }: ResourceName): string {
  return `${namespace}/${name}`
}

/** The hash keeps names apart that are equal after shortening. */
export function fileNameOf(resource: ResourceName, extension: string): string {
  const hash = createHash('sha256').update(keyOf(resource)).digest('hex').slice(0, 16)
  return `${resource.namespace}.${resource.name.slice(0, 80)}.${hash}.${extension}`
}
