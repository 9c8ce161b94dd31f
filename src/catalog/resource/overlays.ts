/** Rules for the overlays of a ToolSet resource, and the OpenAPI Overlay documents that it refers to. */
import { query } from 'jsonpath-rfc9535'
import { faultText, type ResourceFault } from '../../model/resource-fault.ts'
import type { z } from '../../model/schema/resource-fields.ts'
import {
  overlayAction,
  type overlayActions,
  overlayDocument,
  type ToolSetSpec,
} from '../../model/schema/tool-set-spec.ts'
import type { Overlay, OverlayAction } from '../../model/tool-set.ts'
import { readSpec, type SpecPart } from './spec-rules.ts'

const ACTION_FIELDS = Object.keys(overlayAction.shape)

export function checkOverlays(spec: SpecPart): void {
  for (const overlay of spec.parts('overlays')) {
    if (overlay.has('actions') === overlay.has('configMapRef'))
      overlay.fault('', 'does not have exactly one source', 'write either actions or configMapRef')
    checkActions(overlay)
  }
}

function checkActions(parent: SpecPart): void {
  for (const action of parent.parts('actions')) {
    const target = action.get('target')
    const syntaxFault = typeof target === 'string' ? faultOf(target) : undefined
    if (syntaxFault !== undefined)
      action.fault('target', `is not a JSONPath (${syntaxFault})`, 'correct it according to RFC 9535')
    if (action.get('remove') !== true && !action.has('update'))
      action.fault('', 'changes nothing', 'set update, or set remove to true')
    action.refuseUnknown(name => name.startsWith('x-') || ACTION_FIELDS.includes(name), ACTION_FIELDS)
  }
}

function faultOf(target: string): string | undefined {
  try {
    query(null, target)
    return undefined
  } catch (error) {
    return (error as Error).message.slice(0, 200)
  }
}

/**
 * @param value a parsed document
 * @param label names the document in messages
 * @returns its actions, or every fault as text
 */
export function readOverlayDocument(value: unknown, label: string): readonly OverlayAction[] | string {
  const faults: ResourceFault[] = []
  const read = readSpec(overlayDocument, value, label, faults, checkActions)
  return read === undefined ? faultText(faults) : toActions(read.actions)
}

export function toOverlay({
  configMapRef,
  actions = [],
}: NonNullable<ToolSetSpec['overlays']>[number]): Overlay {
  if (configMapRef !== undefined) return { kind: 'configMap', ref: configMapRef }
  return { kind: 'inline', actions: toActions(actions) }
}

function toActions(actions: z.output<typeof overlayActions>): readonly OverlayAction[] {
  return actions.map(({ target, remove = false, update }) => {
    return { target, remove, ...(update === undefined ? {} : { update }) }
  })
}
