/** Runs the reconciler once over resources, with disabled tool sets enabled, and collects its results and faults. */
import type { Tool } from '../../model/tool.ts'
import type { ToolView } from '../../model/tool-view.ts'
import type { Egress } from '../../net/egress/egress.ts'
import { SILENT } from '../../telemetry/log.ts'
import type { Desired, DesiredToolSet } from '../desired.ts'
import { Reconciler } from '../reconcile.ts'
import { fileReferences } from '../resource/references.ts'
import type { ReportedView } from '../source.ts'
import { type CompileOutcome, runCompileJob } from '../sync/compile-job.ts'
import { keyOf } from '../sync/resource-key.ts'
import type { ReferenceReader } from '../sync/tool-set-sync.ts'
import type { ViewReview } from '../views/view-book.ts'

interface ReconciledOnce {
  readonly toolSets: readonly DesiredToolSet[]
  /** By key of the tool set. */
  readonly outcomes: ReadonlyMap<string, CompileOutcome>
  readonly tools: readonly Tool[]
  readonly views: readonly ToolView[]
  readonly viewStatuses: readonly ReportedView[]
  /** For resources that would not be served. */
  readonly faults: string[]
}

/** Where no view is inspected. */
const NO_REVIEW: ViewReview = async () => ({
  tools: [],
  unlisted: [],
  tokens: 0,
  listedTokens: 0,
  isSearched: false,
})

export async function reconcileOnce(
  desired: Desired,
  folder: string,
  options: {
    readonly egress: Egress
    readonly review?: ViewReview
    /** Absent: the files of the folder. */
    readonly references?: ReferenceReader
  },
): Promise<ReconciledOnce> {
  const faults = desired.faults.map(({ message }) => message)
  const outcomes = new Map<string, CompileOutcome>()
  const nothing = { read: async () => undefined, write: async () => {}, remove: async () => {} }
  let published: { readonly tools: readonly Tool[]; readonly views: readonly ToolView[] } = {
    tools: [],
    views: [],
  }
  const reconciler = new Reconciler(
    {
      references: options.references ?? fileReferences(folder),
      compiler: {
        async compile(job) {
          const outcome = runCompileJob(job)
          outcomes.set(keyOf(job.toolSet), outcome)
          return outcome
        },
        close: async () => {},
      },
      documents: nothing,
      definitions: nothing,
      egress: options.egress,
      statuses: {
        async write({ name }, { phase, lastError }) {
          if (phase === 'Error') faults.push(`ToolSet ${name}: ${lastError}`)
        },
        remove: async () => {},
      },
      viewStatuses: {
        async write({ name }, { lastError }) {
          if (lastError !== undefined) faults.push(`ToolView ${name}: ${lastError}`)
        },
        remove: async () => {},
      },
      review: options.review ?? NO_REVIEW,
      log: {
        ...SILENT,
        warn(fields) {
          if ('tool' in fields) faults.push(`Tool ${fields.tool}: ${(fields as { reason?: string }).reason}`)
        },
      },
      now: Date.now,
      random: Math.random,
    },
    (tools, views) => {
      published = { tools, views }
    },
  )
  // also a tool set that is disabled is compiled
  const toolSets = desired.toolSets.map(({ toolSet, ...wanted }) => ({
    ...wanted,
    toolSet: toolSet && { ...toolSet, enabled: true },
  }))
  await reconciler.apply({ ...desired, toolSets })
  await reconciler.close()
  return { toolSets, outcomes, ...published, viewStatuses: reconciler.viewStatuses(), faults }
}
