/** Reads the envelope of a resource, and passes its spec to the reader of its kind. */

import { isObject } from '../../base/json/is-object.ts'
import type { ResourceFault } from '../../model/resource-fault.ts'
import type { ToolSet } from '../../model/tool-set.ts'
import { tenantOfNamespace } from '../../model/tool-set.ts'
import type { ToolView } from '../../model/tool-view.ts'
import { type Dict, own, text } from '../compile/dict.ts'
import type { ResourceMeta } from './resource-meta.ts'
import { SpecPart } from './spec-rules.ts'
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
const FIELDS = ['apiVersion', 'kind', 'metadata', 'spec', 'status']
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
  const root = new SpecPart(value, '', faults)
  const apiVersion = root.get('apiVersion')
  if (apiVersion !== `${apiGroup}/v1alpha1`)
    root.fault('apiVersion', `is ${show(apiVersion)}`, hint(value) ?? `write ${apiGroup}/v1alpha1`)
  const kind = KINDS.find(one => one === root.get('kind'))
  if (kind === undefined)
    root.fault('kind', `is ${show(root.get('kind'))}`, `write one of ${KINDS.join(', ')}`)
  const meta = readMeta(root, kind === 'Tool' || kind === undefined, apiGroup)
  const spec = root.get('spec')
  if (spec === undefined) root.fault('spec', 'is missing', 'write the fields of the resource under spec')
  else if (!isObject(spec)) root.fault('spec', 'is not an object', 'write an object')
  root.refuseUnknown(name => FIELDS.includes(name), FIELDS)
  if (kind !== undefined && meta !== undefined && isObject(spec)) {
    const resource = readKind(kind, meta, spec, faults)
    if (resource !== undefined) return { ok: true, resource }
  }
  return { ok: false, faults, kind, meta, target: targetOf(root, kind, meta) }
}

/** A resource whose kind cannot be read may be a Tool; without a name, it is a file of another sort. */
function targetOf(
  root: SpecPart,
  kind: string | undefined,
  meta: ResourceMeta | undefined,
): ToolTarget | undefined {
  if (kind === 'ToolSet' || kind === 'ToolView') return undefined
  if (meta !== undefined) return { namespace: meta.namespace, name: meta.name }
  if (kind === undefined) return undefined
  const metadata = root.part('metadata')
  const read = (field: string, pattern: RegExp): string | undefined => {
    const value = text(metadata.get(field))
    return value !== undefined && pattern.test(value) ? value : undefined
  }
  return { namespace: read('namespace', NAMESPACE), name: read('name', TOOL_NAME) }
}

function readKind(
  kind: Resource['kind'],
  meta: ResourceMeta,
  spec: Dict,
  faults: ResourceFault[],
): Resource | undefined {
  switch (kind) {
    case 'ToolSet':
      return resourceOf(kind, readToolSet(meta, spec, faults))
    case 'Tool':
      return resourceOf(kind, readTool(meta, spec, faults))
    case 'ToolView':
      return resourceOf(kind, readToolView(meta, spec, faults))
  }
}

function resourceOf<Kind extends Resource['kind'], Value>(kind: Kind, value: Value | undefined) {
  return value === undefined ? undefined : { kind, value }
}

function readMeta(root: SpecPart, isTool: boolean, apiGroup: string): ResourceMeta | undefined {
  if (!isObject(root.get('metadata'))) {
    const reason = root.has('metadata') ? 'is not an object' : 'is missing'
    root.fault('metadata', reason, 'write name and namespace')
    return undefined
  }
  const metadata = root.part('metadata')
  const name = metadata.get('name')
  const namespace = metadata.get('namespace')
  const isNamed = typeof name === 'string' && (isTool ? TOOL_NAME : NAME).test(name)
  if (!isNamed)
    metadata.fault(
      'name',
      `is ${show(name)}`,
      isTool
        ? 'use the name of the tool: letters, digits, "_", "." and "-", at most 64 characters'
        : 'use lower-case letters, digits, "-" and ".", at most 253 characters',
    )
  const isNamespace =
    typeof namespace === 'string' && NAMESPACE.test(namespace) && tenantOfNamespace(namespace) !== undefined
  if (!isNamespace)
    metadata.fault(
      'namespace',
      namespace === undefined ? 'is missing' : `is ${show(namespace)}, which belongs to no tenant`,
      'write tenant-{name}, or platform for all tenants',
    )
  if (!isNamed || !isNamespace) return undefined
  const accepted = text(metadata.part('annotations').get(`${apiGroup}/accepted-spec-hash`))
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
