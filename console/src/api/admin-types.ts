/** Types of the gateway's admin endpoints and its list of tools, as far as the console reads them (docs/reference/http.md). */

export interface CallRow {
  readonly id: string
  readonly at: string
  readonly worker: number
  readonly action: string
  readonly access: string
  readonly tenant: string | null
  readonly consumer: string | null
  readonly tool: string | null
  readonly requested_tool?: string
  readonly api?: string
  readonly kind: 'success' | 'refused' | 'failed'
  readonly outcome: string
  readonly status: number
  readonly duration_ms: number
  readonly backend_ms: number | null
  readonly cache_hit: boolean
  readonly request_id: string
  readonly trace_id: string
  readonly decision_id: string | null
  readonly snapshot: string | null
  readonly policy_revision: string | null
}

export interface Calls {
  readonly calls: readonly CallRow[]
  readonly next_cursor: string | null
}

export interface CallDetail {
  readonly call: CallRow
  readonly stages:
    | readonly {
        readonly stage: string
        readonly phase: string
        readonly start_ms: number
        readonly ms: number
      }[]
    | null
  readonly arguments: unknown
  readonly arguments_state: 'recorded' | 'masked' | 'too_large' | 'not_recorded'
  readonly caller: {
    readonly kind: string
    readonly subject: string
    readonly roles: readonly string[]
    readonly scopes: readonly string[]
  } | null
  readonly client_address: string | null
  readonly refusal: {
    readonly reason: string
    readonly status: number
    readonly message: string
    readonly retry_after_secs: number | null
    readonly reasons: readonly Reason[] | null
  } | null
  readonly decision: {
    readonly allow: boolean
    readonly revision: string
    readonly obligations: unknown
  } | null
}

export interface Reason {
  readonly code: string
  readonly message: string
  readonly scopes?: readonly string[]
}

/** Counts of recorded calls. */
interface Counted {
  readonly calls: number
  readonly refused: number
  readonly errors: number
  readonly p50_ms: number | null
  readonly p99_ms: number | null
}

export interface Overview {
  readonly window_s: number
  readonly covered_s: number
  readonly status: string
  readonly health: readonly { readonly part: string; readonly reason: string }[] | null
  readonly calls: number
  readonly success: number
  readonly refused: number
  readonly failed: number
  readonly rates: {
    readonly calls: number
    readonly success: number
    readonly refused: number
    readonly failed: number
  }
  readonly latency: {
    readonly p50_ms: number | null
    readonly p90_ms: number | null
    readonly p99_ms: number | null
  }
  readonly backend: { readonly p50_ms: number | null; readonly p99_ms: number | null }
  readonly refusals: readonly {
    readonly reason: string
    readonly calls: number
    readonly consumers: readonly {
      readonly tenant: string | null
      readonly consumer: string | null
      readonly calls: number
    }[]
  }[]
  readonly failures: readonly {
    readonly reason: string
    readonly calls: number
    readonly tools: readonly { readonly tool: string | null; readonly calls: number }[]
  }[]
  readonly slowest: readonly (Counted & { readonly tool: string })[]
  readonly consumers: readonly (Counted & {
    readonly tenant: string | null
    readonly consumer: string | null
  })[]
  readonly series: readonly (Counted & { readonly at: string })[]
  readonly tools: number
}

export interface Workers {
  readonly process: {
    readonly name: string
    readonly version: string
    readonly http_server: string
    readonly started_at: string
    readonly memory_mib: number
  }
  readonly workers: readonly {
    readonly worker: number
    readonly status: string
    readonly reason: string | null
    readonly snapshot: string | null
    readonly policy_revision: string | null
    readonly tools: number
    readonly in_flight: number
    readonly streams: number
    readonly calls: number
  }[]
  readonly consistent: boolean
}

export type Schema = Readonly<Record<string, unknown>>

export interface ToolRow extends Counted {
  readonly name: string
  readonly title: string | null
  readonly description: string | null
  readonly toolset: string
  readonly tenant: string | null
  readonly operation: string | null
  readonly method: string
  readonly backend: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly tags: readonly string[]
  readonly input_schema: Schema
  readonly timeout_ms: number
  readonly last_call_at: string | null
  readonly tokens: number
  readonly name_limits: readonly { readonly clients: string | readonly string[]; readonly limit: number }[]
  readonly lint: readonly { readonly rule: string; readonly message: string }[]
}

export interface ToolRows {
  readonly tools: readonly ToolRow[]
  readonly total: number
  readonly tokens: number
}

/** A ToolView; `listed` and `listed_tokens` are of the list that a model gets. */
export interface ViewRow {
  readonly name: string
  readonly namespace: string
  readonly title: string | null
  readonly path: string | null
  readonly tools: number
  readonly listed: number
  readonly listed_tokens: number
  readonly token_budget: number | null
  readonly warnings: readonly string[]
  readonly status: { readonly phase: string; readonly message: string | null } | null
}

export interface ToolSetRow extends Counted {
  readonly name: string
  readonly tenant: string | null
  readonly tools: number
  readonly tokens: number
  readonly status: {
    readonly phase: string
    readonly message: string | null
    readonly conditions: readonly {
      readonly type: string
      readonly status: string
      readonly message: string
    }[]
  } | null
}

/** A tool as its callers see it. */
export interface ListedTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: Schema
  readonly annotations?: Readonly<Record<string, unknown>>
}

export interface QuotaRow {
  readonly consumer_id: string
  readonly daily_count: number
  readonly daily_limit: number | null
  readonly monthly_count: number
  readonly monthly_limit: number | null
}

export interface CountedWindow {
  readonly count: number
  readonly limit: number | null
}

/** What is counted together: the calls of a consumer in a tenant, or those of one subscription. */
export interface QuotaCounter {
  readonly tenant: string
  readonly subscription_id: string | null
  readonly plan: string | null
  /** False: a rule of the plans file may have chosen the plan. */
  readonly limits_known: boolean
  /** null: no such limit, and nothing is counted. */
  readonly second: CountedWindow | null
  readonly minute: CountedWindow | null
  readonly in_flight: CountedWindow | null
  readonly day: CountedWindow
  readonly month: CountedWindow
}

export interface QuotaDetail extends QuotaRow {
  /** Absent at gateways before this version. */
  readonly counters?: readonly QuotaCounter[]
  readonly plans: readonly {
    readonly tenant: string
    readonly source: string
    readonly plan: string | null
  }[]
}

export interface SessionStatistics {
  readonly active_sessions: number
  readonly zombie_sessions: number
  readonly total_created: number
}

/** A recorded decision of the policy. */
export interface DecisionRow {
  readonly id: string
  readonly at: string
  readonly revision: string
  readonly allow: boolean
  readonly unavailable: boolean
  readonly action: string
  readonly resource: { readonly type: string; readonly id: string }
  readonly tenant: string | null
  readonly consumer: string
  readonly reasons: readonly Reason[]
}

/** A call that ran through all stages without an effect. */
export interface Simulation {
  readonly outcome: string
  readonly allowed: boolean
  readonly status: number
  readonly message: string | null
  readonly stages: readonly {
    readonly stage: string
    readonly phase: string
    readonly result: 'passed' | 'refused' | 'not_simulated' | 'not_reached'
  }[]
  readonly caller: {
    readonly tenant: string | null
    readonly consumer: string
    readonly roles: readonly string[]
    readonly scopes: readonly string[]
    readonly from: string
  }
  readonly request: { readonly method: string; readonly url: string } | null
  /** For a list. */
  readonly tools?: readonly { readonly name: string; readonly tokens: number }[]
  readonly hidden?: readonly { readonly name: string; readonly reasons: readonly Reason[] }[]
  readonly tokens?: number
}
