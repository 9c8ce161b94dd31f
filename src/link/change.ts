/** The change from one configuration document to another, a whole document as a change, and how a change is applied. */
import type { Plan, PlanRule } from '../model/plan.ts'
import type { Tool } from '../model/tool.ts'
import type { ToolView } from '../model/tool-view.ts'
import { applyUpdate, type ShareUpdate, wholeShare } from './control-share.ts'
import type { SnapshotContent, SnapshotDocument } from './document.ts'

/** Parts that are absent stay as they were. */
export interface ContentChange {
  readonly tools?: readonly Tool[]
  readonly plans?: readonly Plan[]
  readonly consumers?: SnapshotContent['consumers']
  readonly planRules?: readonly PlanRule[]
  readonly views?: readonly ToolView[]
  readonly control?: ShareUpdate
}

/** A change with the version of the document it leads to: the receiver need not hash the whole again. */
export interface SnapshotChange extends ContentChange {
  readonly version: string
}

/** The change that leads from EMPTY_CONTENT to a document. */
export function wholeChange({ control, ...document }: SnapshotDocument): SnapshotChange {
  return { ...document, control: wholeShare(control) }
}

/**
 * The content after a change; the one before stays as it was.
 * @throws Error when the update of the share builds on another version
 */
export function applyChange(content: SnapshotContent, change: ContentChange): SnapshotContent {
  const { tools, plans, consumers, control } = change
  const planRules = change.planRules ?? content.planRules
  const views = change.views ?? content.views
  return Object.freeze({
    tools: tools ?? content.tools,
    plans: plans ?? content.plans,
    consumers: consumers ?? content.consumers,
    ...(planRules === undefined ? undefined : { planRules }),
    ...(views === undefined ? undefined : { views }),
    control: control === undefined ? content.control : applyUpdate(content.control, control),
  })
}
