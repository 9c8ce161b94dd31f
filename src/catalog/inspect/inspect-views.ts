/** Reports what the ToolViews of a file would list together with the resources of its directory, and formats the report. It serves nothing. */
import { basename, dirname } from 'node:path'
import type { ToolViewStatus } from '../../model/tool-view.ts'
import { desiredFromFiles } from '../directory/desired-from-files.ts'
import { listFiles, readResourceFile } from '../directory/read-directory.ts'
import { fileReferences } from '../resource/references.ts'
import { keyOf } from '../sync/resource-key.ts'
import type { ViewReview } from '../views/view-book.ts'
import { unmatchedEntries, viewNotes } from '../views/view-status.ts'
import type { InspectOptions } from './inspect-file.ts'
import { reconcileOnce } from './reconcile-once.ts'

interface ViewFinding {
  readonly rule: 'unmatched-selector' | 'not-served'
  readonly message: string
}

export interface ViewReport {
  readonly toolView: string
  readonly tools: number
  readonly tokens: number
  readonly leftOut: readonly string[]
  readonly findings: readonly ViewFinding[]
  readonly notices: readonly string[]
}

/** @returns empty for a file without ToolViews */
export async function inspectViews(
  path: string,
  options: InspectOptions & { readonly review: ViewReview },
): Promise<readonly ViewReport[]> {
  const directory = dirname(path)
  const files = (await listFiles(directory)).files.filter(file => file.isResource)
  const own = files.find(file => file.path === basename(path))
  if (own === undefined) return []
  const content = await readResourceFile(own, { directory, ...options })
  const names = content.results.flatMap(result =>
    result.ok && result.resource.kind === 'ToolView' ? [keyOf(result.resource.value)] : [],
  )
  if (names.length === 0) return []
  const contents = []
  for (const file of files) contents.push(await readResourceFile(file, { directory, ...options }))
  const desired = await desiredFromFiles(contents, new Map(), fileReferences(directory))
  const { tools, views, viewStatuses } = await reconcileOnce(desired, directory, options)
  const reports: ViewReport[] = []
  for (const key of names) {
    const status = viewStatuses.find(reported => keyOf(reported) === key)?.status
    const view = views.find(served => keyOf(served) === key)
    const unmatched = view === undefined ? [] : unmatchedEntries(view, tools)
    reports.push({
      toolView: key,
      tools: status?.toolCount ?? 0,
      tokens: status?.tokens ?? 0,
      leftOut: status?.leftOut ?? [],
      findings: [
        ...faultOf(status),
        ...unmatched.map(entry => ({
          rule: 'unmatched-selector' as const,
          message: `spec.${entry} matches nothing: correct or remove the entry`,
        })),
      ],
      notices: view === undefined ? [] : viewNotes(view, await options.review(view, tools)),
    })
  }
  return reports
}

function faultOf(status: ToolViewStatus | undefined): ViewFinding[] {
  return status?.lastError === undefined ? [] : [{ rule: 'not-served', message: status.lastError }]
}

/** The report as text lines. */
export function viewLines({ toolView, tools, tokens, findings, notices }: ViewReport): string[] {
  return [
    ...findings.map(({ rule, message }) => `ToolView ${toolView}: ${message} [${rule}]`),
    ...notices.map(message => `ToolView ${toolView}: note: ${message}`),
    `ToolView ${toolView}: tools: ${tools} (about ${tokens} tokens), findings: ${findings.length}`,
  ]
}
