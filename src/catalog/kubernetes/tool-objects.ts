/** Plans which Tool objects of a tool set to create, replace and remove, and finds their tool names and edited fields. */

import { createHash } from 'node:crypto'
import { isObject } from '../../base/json/is-object.ts'
import type { Tool } from '../../model/tool.ts'
import type { KubeObject } from './api.ts'

interface Owner {
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

interface ObjectPlan {
  readonly create: readonly KubeObject[]
  readonly replace: readonly KubeObject[]
  readonly remove: readonly KubeObject[]
}

type Spec = { readonly [field: string]: unknown }

/** The exact name of the tool; metadata.name is derived from it, since it must be a DNS name. */
export function toolNameOf(object: KubeObject, apiGroup: string): string {
  return object.metadata.annotations?.[`${apiGroup}/tool-name`] ?? object.metadata.name
}

/**
 * The edited fields: for an object that the gateway wrote, those that differ from what it wrote; for any other object, all fields.
 */
export function editedFields(object: KubeObject, apiGroup: string): Spec {
  const written = writtenHashes(object, apiGroup)
  const spec = object.spec ?? {}
  if (written === undefined) return spec
  return Object.fromEntries(Object.entries(spec).filter(([field, value]) => written[field] !== hashOf(value)))
}

/** True for objects that the gateway wrote and therefore may delete. */
function isGenerated(object: KubeObject, apiGroup: string): boolean {
  return writtenHashes(object, apiGroup) !== undefined
}

/** @param live objects owned by the tool set */
export function planObjects(
  tools: readonly Tool[],
  live: readonly KubeObject[],
  owner: Owner,
  apiGroup: string,
): ObjectPlan {
  const byTool = new Map(live.map(object => [toolNameOf(object, apiGroup), object]))
  const create: KubeObject[] = []
  const replace: KubeObject[] = []
  for (const tool of tools) {
    const generated = specOf(tool)
    const current = byTool.get(tool.name)
    byTool.delete(tool.name)
    const object = objectFor(tool, generated, owner, apiGroup)
    if (current === undefined) {
      create.push(object)
      continue
    }
    const spec = { ...generated, ...editedFields(current, apiGroup) }
    const annotations = { ...current.metadata.annotations, ...object.metadata.annotations }
    const isSame =
      hashOf(spec) === hashOf(current.spec) && hashOf(annotations) === hashOf(current.metadata.annotations)
    if (!isSame) replace.push({ ...current, metadata: { ...current.metadata, annotations }, spec })
  }
  return { create, replace, remove: [...byTool.values()].filter(object => isGenerated(object, apiGroup)) }
}

function objectFor(tool: Tool, spec: Spec, owner: Owner, apiGroup: string): KubeObject {
  const apiVersion = `${apiGroup}/v1alpha1`
  const { name, namespace, uid } = owner
  const hashes = Object.fromEntries(Object.entries(spec).map(([field, value]) => [field, hashOf(value)]))
  return {
    apiVersion,
    kind: 'Tool',
    metadata: {
      name: objectName(tool.name),
      namespace,
      labels: { [`${apiGroup}/tool-set`]: labelValue(name) },
      annotations: { [`${apiGroup}/tool-name`]: tool.name, [`${apiGroup}/written`]: JSON.stringify(hashes) },
      ownerReferences: [
        { apiVersion, kind: 'ToolSet', name, uid, controller: true, blockOwnerDeletion: true },
      ] as never,
    },
    spec,
  }
}

/** The beginning of a name, as the value of a label: at most 63 characters, the last one a letter or digit. */
function labelValue(name: string): string {
  return name.slice(0, 63).replace(/[^A-Za-z0-9]+$/, '')
}

/** A DNS subdomain (RFC 1123); a hash distinguishes names that are equal in lower case or after replacing characters. */
function objectName(tool: string): string {
  const plain = tool
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, '-')
    .replace(/-*\.[.-]*/g, '.')
    .replace(/^[.-]+|[.-]+$/g, '')
  if (plain === tool) return plain
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, 8)
  return `${plain === '' ? 'tool' : plain}-${hash}`
}

/** The spec of the Tool resource for a tool; empty fields are omitted. */
function specOf(tool: Tool): Spec {
  const { title: _, ...annotations } = tool.annotations
  return {
    ...(tool.title === undefined ? {} : { displayName: tool.title }),
    description: tool.description,
    endpoint: tool.request.baseUrl + tool.request.path,
    method: tool.request.method,
    inputSchema: tool.inputSchema,
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
    annotations,
    ...(tool.tags.length === 0 ? {} : { tags: tool.tags }),
    timeout: `${tool.timeoutMs}ms`,
    ...(tool.rateLimit === undefined ? {} : { rateLimit: tool.rateLimit }),
    ...(tool.cache === undefined ? {} : { cache: { ttl: `${tool.cache.ttlMs}ms` } }),
    ...(tool.tasks === undefined ? {} : { tasks: tool.tasks }),
    ...(tool.maxResultBytes === undefined ? {} : { maxResultKiB: Math.ceil(tool.maxResultBytes / 1024) }),
    enabled: true,
  }
}

function writtenHashes(
  object: KubeObject,
  apiGroup: string,
): { readonly [field: string]: unknown } | undefined {
  const text = object.metadata.annotations?.[`${apiGroup}/written`]
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Hash of the canonical form, because the API server may reorder fields. */
function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(canonical(value)) ?? '')
    .digest('hex')
    .slice(0, 16)
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map(key => [key, canonical(value[key])]),
  )
}
