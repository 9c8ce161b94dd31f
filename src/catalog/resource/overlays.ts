/** Reads overlays of a ToolSet resource, and OpenAPI Overlay documents that it refers to. */
import { query } from 'jsonpath-rfc9535'
import type { Overlay, OverlayAction, ToolSet } from '../../model/tool-set.ts'
import { faultText, type ResourceFault, ResourceFields } from './fields.ts'
import { readReference } from './key-reference.ts'

const MAX_OVERLAYS = 20
const MAX_ACTIONS = 1000
const MAX_TARGET_CHARS = 1024

export function readOverlays(spec: ResourceFields): Pick<ToolSet, 'overlays'> {
  const overlays = spec.objects('overlays', MAX_OVERLAYS).map(readOverlay)
  return overlays.length === 0 ? {} : { overlays }
}

function readOverlay(fields: ResourceFields): Overlay {
  const ref = readReference(fields, 'configMapRef')
  const hasActions = fields.has('actions')
  if (hasActions === fields.has('configMapRef'))
    fields.fault('', 'does not have exactly one source', 'write either actions or configMapRef')
  const actions = hasActions ? readActions(fields) : []
  fields.close()
  return ref === undefined ? { kind: 'inline', actions } : { kind: 'configMap', ref }
}

/**
 * @param value a parsed document
 * @param label names the document in messages
 * @returns its actions, or every fault as text
 */
export function readOverlayDocument(value: unknown, label: string): readonly OverlayAction[] | string {
  const faults: ResourceFault[] = []
  const fields = new ResourceFields('', { [label]: value }, faults).object(label)
  const version = fields?.raw('overlay')
  if (fields !== undefined && !/^1\.0(\.|$)/.test(String(version)))
    fields.fault(
      'overlay',
      'is not a supported version',
      'write an OpenAPI Overlay 1.0 document with overlay: 1.0.0',
    )
  if (fields !== undefined && !fields.has('actions'))
    fields.fault('actions', 'is missing', 'write a list of actions')
  const actions = fields === undefined ? [] : readActions(fields)
  return faults.length === 0 ? actions : faultText(faults)
}

function readActions(parent: ResourceFields): readonly OverlayAction[] {
  const given = parent.raw('actions')
  if (Array.isArray(given) && given.length === 0)
    parent.fault('actions', 'is empty', 'write at least one action')
  return parent.objects('actions', MAX_ACTIONS).map(fields => {
    const target = fields.string('target', {
      max: MAX_TARGET_CHARS,
      pattern: /^\$/,
      fix: "write a JSONPath (RFC 9535) such as $.paths['/items'].get",
    })
    if (!fields.has('target')) fields.fault('target', 'is missing', 'write a JSONPath that begins with "$"')
    const syntaxFault = target === undefined ? undefined : faultOf(target)
    if (syntaxFault !== undefined)
      fields.fault('target', `is not a JSONPath (${syntaxFault})`, 'correct it according to RFC 9535')
    fields.string('description', { max: 4096 })
    const remove = fields.boolean('remove') ?? false
    const update = fields.raw('update')
    if (!remove && update === undefined)
      fields.fault('', 'changes nothing', 'set update, or set remove to true')
    for (const name of fields.names) if (name.startsWith('x-')) fields.raw(name)
    fields.close()
    return { target: target ?? '$', remove, ...(update === undefined ? {} : { update }) }
  })
}

function faultOf(target: string): string | undefined {
  try {
    query(null, target)
    return undefined
  } catch (error) {
    return (error as Error).message.slice(0, 200)
  }
}
