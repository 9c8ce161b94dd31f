/** Reads the envelope of a resource, and passes its spec to the reader of its kind. */

import { isObject } from '../../base/json/is-object.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import { tenantOfNamespace } from '../../model/tool-set.ts'
import type { ToolView } from '../../model/tool-view.ts'
import { type Dict, own, text } from '../compile/dict.ts'
import { type ResourceFault, ResourceFields } from './fields.ts'
import type { ResourceMeta } from './resource-meta.ts'
import { readTool, type ToolResource } from './tool-resource.ts'
import { readToolSet } from './tool-set-resource.ts'
import type { ToolTarget } from './tool-target.ts'
import { readToolView } from './tool-view-resource.ts'

export type Resource =
  | { readonly kind: 'ToolSet'; readonly value: ToolSet }
  | { readonly kind: 'Tool'; readonly value: ToolResource }
  | { readonly kind: 'ToolView'; readonly value: ToolView }

/** `meta` is set when name and namespace of an invalid resource could be read. */
export type ResourceResult =
  | { readonly ok: true; readonly resource: Resource }
  | {
      readonly ok: false
      readonly faults: readonly ResourceFault[]
      readonly kind: string | undefined
      readonly meta: ResourceMeta | undefined
      /** Set when it is a Tool, or may be one. */
      readonly target: ToolTarget | undefined
    }

const KINDS = ['ToolSet', 'Tool', 'ToolView'] as const
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

/** @param apiGroup `API_GROUP`, such as `toolgate.dev` */
export function readResource(value: unknown, apiGroup: string): ResourceResult {
  const faults: ResourceFault[] = []
  if (!isObject(value)) {
    const fault = {
      field: 'resource',
      reason: 'is not an object',
      fix: 'write an object with apiVersion, kind, metadata and spec',
    }
    return { ok: false, faults: [fault], kind: undefined, meta: undefined, target: undefined }
  }
  const root = new ResourceFields('', value, faults)
  const apiVersion = root.raw('apiVersion')
  if (apiVersion !== `${apiGroup}/v1alpha1`) {
    root.fault('apiVersion', `is ${show(apiVersion)}`, hint(value) ?? `write ${apiGroup}/v1alpha1`)
  }
  const kind = root.oneOf('kind', KINDS)
  if (!root.has('kind')) root.fault('kind', 'is missing', `write ${KINDS.join(', ')}`)
  const meta = readMeta(root, kind === 'Tool' || kind === undefined, apiGroup)
  root.raw('status')
  const spec = root.object('spec')
  if (!root.has('spec')) root.fault('spec', 'is missing', 'write the fields of the resource under spec')
  root.close()
  if (kind !== undefined && meta !== undefined && spec !== undefined) {
    const resource = readSpec(kind, meta, spec)
    if (faults.length === 0) return { ok: true, resource }
  }
  return { ok: false, faults, kind, meta, target: targetOf(root, kind, meta) }
}

/** A resource whose kind cannot be read may be a Tool; without a name, it is a file of another sort. */
function targetOf(
  root: ResourceFields,
  kind: string | undefined,
  meta: ResourceMeta | undefined,
): ToolTarget | undefined {
  if (kind === 'ToolSet' || kind === 'ToolView') return undefined
  if (meta !== undefined) return { namespace: meta.namespace, name: meta.name }
  if (kind === undefined) return undefined
  const metadata = root.raw('metadata')
  const read = (field: string, pattern: RegExp): string | undefined => {
    const value = isObject(metadata) ? text(own(metadata, field)) : undefined
    return value !== undefined && pattern.test(value) ? value : undefined
  }
  return { namespace: read('namespace', NAMESPACE), name: read('name', TOOL_NAME) }
}

function readSpec(kind: Resource['kind'], meta: ResourceMeta, spec: ResourceFields): Resource {
  switch (kind) {
    case 'ToolSet':
      return { kind, value: readToolSet(meta, spec) }
    case 'Tool':
      return { kind, value: readTool(meta, spec) }
    case 'ToolView':
      return { kind, value: readToolView(meta, spec) }
  }
}

function readMeta(root: ResourceFields, isTool: boolean, apiGroup: string): ResourceMeta | undefined {
  const metadata = root.object('metadata')
  if (metadata === undefined) {
    if (!root.has('metadata')) root.fault('metadata', 'is missing', 'write name and namespace')
    return undefined
  }
  const fix = isTool
    ? 'use the name of the tool: letters, digits, "_", "." and "-", at most 64 characters'
    : 'use lower-case letters, digits, "-" and "."'
  const name = metadata.string('name', { max: 253, pattern: isTool ? TOOL_NAME : NAME, fix })
  if (!metadata.has('name')) metadata.fault('name', 'is missing', fix)
  const namespace = metadata.string('namespace', {
    max: 63,
    pattern: NAMESPACE,
    fix: 'use tenant-{name} or platform',
  })
  if (!metadata.has('namespace'))
    metadata.fault('namespace', 'is missing', 'write tenant-{name}, or platform for all tenants')
  else if (namespace !== undefined && tenantOfNamespace(namespace) === undefined) {
    metadata.fault(
      'namespace',
      `is "${namespace}", which belongs to no tenant`,
      'write tenant-{name}, or platform for all tenants',
    )
  }
  if (name === undefined || namespace === undefined) return undefined
  const annotations = metadata.raw('annotations')
  const accepted = isObject(annotations)
    ? text(own(annotations, `${apiGroup}/accepted-spec-hash`))
    : undefined
  return { name, namespace, ...(accepted === undefined ? {} : { acceptedSpecHash: accepted }) }
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 60)
}

/** An OpenAPI document in place of a resource is a common mistake. */
function hint(value: Dict): string | undefined {
  if (own(value, 'openapi') === undefined && own(value, 'swagger') === undefined) return undefined
  return 'this is an OpenAPI document: move it to the folder "configmaps" and refer to it in a ToolSet'
}
