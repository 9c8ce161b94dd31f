/** `/admin/overview`, `/admin/tools`, `/admin/toolsets`, `/admin/workers` (docs/reference/http.md, Administration). `admin-call.ts` runs the pipeline first. */

import { inSlices } from '../../../base/async/slices.ts'
import { getOrSet } from '../../../base/once-per.ts'
import { type Summary, shownFigures, shownSummary } from '../../../link/call-summary.ts'
import { addFigures, type Figures, type Groups, noFigures, SEPARATOR } from '../../../model/call-figures.ts'
import { wirePending } from '../../../model/pending-definitions.ts'
import type { Principal } from '../../../model/principal.ts'
import type { ToolSetStatus } from '../../../model/tool-set.ts'
import { areConsistent, type ProcessCalls } from '../../calls/process-calls.ts'
import type { CompiledTool, Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import { Parameters, tenantSeenBy } from '../call-parameters.ts'
import type { GatewayParts } from '../gateway.ts'
import type { RestTools } from '../rest.ts'
import { type ToolReview, tokensOf, toolReport } from '../tool-report.ts'
import { type AdminResource, serveAdmin } from './admin-call.ts'
import { shownWindow } from './admin-calls.ts'
import { type ReportedView, shownViews } from './admin-views.ts'

/** A tool set as its source sees it. */
export interface ReportedToolSet {
  readonly namespace: string
  readonly name: string
  readonly status: ToolSetStatus
}

/** What the source of tools of this process reports. */
export interface ReportedCatalog {
  readonly toolSets: readonly ReportedToolSet[]
  readonly views: readonly ReportedView[]
}

export interface OverviewParts {
  readonly calls: ProcessCalls
  readonly review: ToolReview
  readonly catalog: () => Promise<ReportedCatalog>
  /** Faults that degrade the process: part and reason. */
  readonly faults: () => readonly (readonly [string, string])[]
  /** Process state of the process, for operators; without secrets. */
  readonly processState: () => object
}

type ShownSummary = ReturnType<typeof shownSummary>

const SERIES = 30
const DEFAULT_WINDOW_S = 60
/** Times are rounded up to it, so that consoles that look at the same moment share the work: one part of the series of the default window, and the period of the page Now. */
const ROUND_MS = 2000
const MAX_TOOLS = 500

export class OverviewAdmin {
  readonly #gateway: GatewayParts
  readonly #parts: OverviewParts
  readonly #rest: RestTools
  readonly #shownSummaries = new WeakMap<Summary, ShownSummary>()

  constructor(gateway: GatewayParts, parts: OverviewParts, rest: RestTools) {
    this.#gateway = gateway
    this.#parts = parts
    this.#rest = rest
  }

  /** GET /admin/overview */
  overview(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, 'overview', async caller => {
      const windowS = new Parameters(call.request.query).number('window_s', 10, 3600) ?? DEFAULT_WINDOW_S
      const toMs = endOf(call)
      const fromMs = toMs - windowS * 1000
      const tenant = tenantSeenBy(caller)
      const [summary, workers] = await Promise.all([
        this.#parts.calls.summary({ ...within(tenant), fromMs, toMs, parts: SERIES }),
        this.#parts.calls.workers(),
      ])
      const faults = this.#parts.faults()
      const state = this.#gateway.draining() ? 'draining' : faults.length === 0 ? 'healthy' : 'degraded'
      const ofProcess =
        tenant === undefined
          ? {
              health: faults.map(([part, reason]) => ({ part, reason })),
              workers: workers.length,
              consistent: areConsistent(workers),
              snapshot: snapshot.version,
              policy_revision: snapshot.policy.revision,
            }
          : { health: null, workers: null, consistent: null, snapshot: null, policy_revision: null }
      call.respond(200, {
        at: new Date(call.receivedAtMs).toISOString(),
        window_s: windowS,
        status: state,
        ...ofProcess,
        tools: tenant === undefined ? snapshot.toolCount : snapshot.toolsOf(tenant).size,
        ...this.#showSummary(summary, fromMs, toMs),
      })
    })
  }

  /** GET /admin/tools */
  tools(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, 'tools', async caller => {
      const parameters = new Parameters(call.request.query)
      const [toolset, part] = [parameters.text('toolset'), parameters.text('q')]
      const limit = parameters.limit()
      const offset = Math.trunc(parameters.number('offset', 0, 1e6) ?? 0)
      const tenant = tenantSeenBy(caller)
      const found = toolsSeenBy(snapshot, tenant ?? parameters.text('tenant')).filter(
        ({ tool }) =>
          (toolset === undefined || tool.toolSet === toolset) &&
          (part === undefined || tool.name.toLowerCase().includes(part.toLowerCase())),
      )
      const summary = await this.#summary(call, tenant)
      const shown = found
        .slice(offset, offset + Math.min(limit, MAX_TOOLS))
        .map(entry => toolReport(entry, figuresOf(summary.tools, entry), this.#parts.review))
      call.respond(200, {
        tools: shown,
        total: found.length,
        tokens: await sumOfTokens(found),
        window: shownWindow(summary.window),
      })
    })
  }

  /** GET /admin/toolsets */
  toolSets(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, 'toolsets', async caller => {
      const tenant = tenantSeenBy(caller)
      const [summary, { toolSets: reported, views }] = await Promise.all([
        this.#summary(call, tenant),
        this.#parts.catalog(),
      ])
      const groups = new Map<string, CompiledTool[]>()
      for (const entry of toolsSeenBy(snapshot, tenant))
        getOrSet(groups, keyOf(entry.tool.namespace, entry.tool.toolSet), () => []).push(entry)
      const statuses = new Map(
        reported.map(({ namespace, name, status }) => [keyOf(namespace, name), status]),
      )
      // a tool set without tools is shown for its status
      for (const { namespace, name } of reported)
        if (tenant === undefined || namespace === `tenant-${tenant}` || namespace === 'platform')
          getOrSet(groups, keyOf(namespace, name), () => [])
      const toolsets = await Promise.all(
        [...groups].sort().map(async ([key, tools]) => {
          const [namespace, name] = key.split(SEPARATOR)
          const figures = noFigures()
          for (const entry of tools) addFigures(figures, figuresOf(summary.tools, entry))
          return {
            name,
            namespace,
            tenant: tools[0]?.tool.tenant ?? null,
            api_id: tools[0]?.tool.apiId ?? null,
            tools: tools.length,
            tokens: await sumOfTokens(tools),
            ...shownFigures(figures),
            status: shownStatus(statuses.get(key)),
          }
        }),
      )
      const notes = this.#parts.review.viewNotes
      call.respond(200, {
        toolsets,
        views: await shownViews({ snapshot, tenant, reported: views, notes }),
        window: shownWindow(summary.window),
      })
    })
  }

  /** GET /admin/workers */
  workers(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, 'workers', async () => {
      const workers = await this.#parts.calls.workers()
      call.respond(200, {
        process: this.#parts.processState(),
        workers,
        consistent: areConsistent(workers),
      })
    })
  }

  /** The same summary is shown once, however many consoles look at it. */
  #showSummary(summary: Summary, fromMs: number, toMs: number): ShownSummary {
    const shown = this.#shownSummaries.get(summary) ?? shownSummary(summary, fromMs, toMs)
    this.#shownSummaries.set(summary, shown)
    return shown
  }

  /** For all recorded calls. */
  #summary(call: Call, tenant: string | undefined): Promise<Summary> {
    const toMs = endOf(call)
    return this.#parts.calls.summary({ ...within(tenant), fromMs: 0, toMs, parts: 0 })
  }

  #serve(
    call: Call,
    snapshot: Snapshot,
    resource: AdminResource,
    respond: (caller: Principal) => Promise<void>,
  ): void {
    void serveAdmin(this.#gateway, this.#rest, call, snapshot, resource, respond)
  }
}

/** For the calls that the response to this one covers. */
function endOf({ receivedAtMs }: Call): number {
  return Math.ceil((receivedAtMs + 1) / ROUND_MS) * ROUND_MS
}

function within(tenant: string | undefined): { readonly within?: string } {
  return tenant === undefined ? {} : { within: tenant }
}

/** In name order. @param tenant undefined: those of every tenant */
function toolsSeenBy(snapshot: Snapshot, tenant: string | undefined): readonly CompiledTool[] {
  if (tenant !== undefined) return [...snapshot.toolsOf(tenant).values()]
  return [...snapshot.tools].sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1))
}

function keyOf(namespace: string, name: string): string {
  return namespace + SEPARATOR + name
}

function figuresOf(tools: Groups, { tool }: CompiledTool): Figures {
  return tools.get(tool.toolSet + SEPARATOR + tool.name) ?? noFigures()
}

async function sumOfTokens(tools: readonly CompiledTool[]): Promise<number> {
  let sum = 0
  await inSlices(tools, entry => {
    sum += tokensOf(entry)
  })
  return sum
}

function shownStatus(status: ToolSetStatus | undefined): object | null {
  if (status === undefined) return null
  const { phase, lastError, lastSyncedAt, conditions, pendingDefinitions: pending } = status
  return {
    phase,
    message: lastError ?? null,
    last_synced_at: lastSyncedAt ?? null,
    conditions,
    ...(pending && { pending_definitions: wirePending(pending) }),
  }
}
