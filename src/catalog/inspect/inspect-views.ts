/** Reports what the ToolViews of a file would list together with the resources of its directory, and formats the report. */
import { dirname } from 'node:path'
import type { ToolViewStatus } from '../../model/tool-view.ts'
import { desiredFromFiles } from '../directory/desired-from-files.ts'
import { type FileContent, isReferenced, listFiles, readResourceFile } from '../directory/read-directory.ts'
import { fileReferences } from '../resource/references.ts'
import { keyOf } from '../sync/resource-key.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { ViewReview } from '../views/view-book.ts'
import { unmatchedEntries, viewNotes } from '../views/view-status.ts'
import { InspectionError, type InspectOptions, orUnreadable, readInspected } from './inspect-file.ts'
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

/**
 * @returns empty for a file without ToolViews
 * @throws InspectionError with the paths of the directory that cannot be read: what a view would list is then not known
 */
export async function inspectViews(
  path: string,
  options: InspectOptions & { readonly review: ViewReview },
): Promise<readonly ViewReport[]> {
  const directory = dirname(path)
  const content = await readInspected(path, options)
  const names = content.results.flatMap(result =>
    result.ok && result.resource.kind === 'ToolView' ? [keyOf(result.resource.value)] : [],
  )
  if (names.length === 0) return []
  const { contents, unreadable } = await readDirectory(directory, options)
  const references = noteUnreadable(fileReferences(directory), unreadable)
  const desired = await desiredFromFiles(contents, new Map(), references)
  const { tools, views, viewStatuses } = await reconcileOnce(desired, directory, { ...options, references })
  if (unreadable.size > 0)
    throw new InspectionError(
      `${path}: its ToolViews cannot be checked, because the folder ${directory} contains what cannot be read: ${[...unreadable].join('; ')}. \
Correct these files and their permissions, or move them to another folder.`,
    )
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

/** @returns also why paths that may hold resources cannot be read */
async function readDirectory(
  directory: string,
  options: InspectOptions,
): Promise<{ readonly contents: readonly FileContent[]; readonly unreadable: Set<string> }> {
  const { files, unknown } = await orUnreadable(directory, listFiles(directory))
  const contents = []
  for (const file of files)
    if (file.isResource) contents.push(await readResourceFile(file, { directory, ...options }))
  const faults = [...unknown.filter(({ path }) => !isReferenced(path)), ...contents]
  return {
    contents,
    unreadable: new Set(faults.flatMap(({ path, fault }) => (fault === undefined ? [] : `${path} ${fault}`))),
  }
}

/** Adds to `unreadable` why a document or a secret that a resource names cannot be read. */
function noteUnreadable(references: ReferenceReader, unreadable: Set<string>): ReferenceReader {
  const note = (error: Error): never => {
    unreadable.add(error.message)
    throw error
  }
  return {
    readDocument: (...reference) => references.readDocument(...reference).catch(note),
    readFile: (...reference) => references.readFile(...reference).catch(note),
    readSecret: (...reference) => references.readSecret(...reference).catch(note),
  }
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
