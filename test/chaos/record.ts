/** What a chaos run observed: each call, each acknowledged change, each fault with its times. */

/**
 * proxy, rest, mcp: callers without a limit, at the backend `main`. list: lists of tools, without a backend. side: a proxied API at the backend
 * `side`. minute, burst: callers at their limit. session, stream: MCP sessions, which Redis holds. change: a request to a control plane.
 */
export type Kind =
  | 'proxy'
  | 'side'
  | 'rest'
  | 'mcp'
  | 'list'
  | 'minute'
  | 'burst'
  | 'session'
  | 'stream'
  | 'change'

export interface CallRecord {
  readonly kind: Kind
  /** Name of the gateway or control plane. */
  readonly member: string
  /** `X-Request-ID`; method and path of a change; empty for a stream. */
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly endedAt: number
  readonly status: number
  /** Whether the response is what a caller expects; 429 is, for callers at their limit. */
  readonly ok: boolean
  /** The start of the body, or why no response came; empty where all is well, except for 429 at a limit. */
  readonly detail: string
}

export interface FaultRecord {
  readonly kind: string
  readonly target: number
  readonly fromAt: number
  /** When the dependency was available again. */
  untilAt: number
}

/** A change that a control plane acknowledged, as the webhook event that it promises. */
export interface PromisedEvent {
  readonly event: string
  readonly subscriptionId: string
  /** For a rotated key; empty for other events. */
  readonly keyPrefix: string
  readonly acknowledgedAt: number
}

export interface RunRecord {
  readonly seed: number
  readonly calls: CallRecord[]
  readonly faults: FaultRecord[]
  readonly promised: PromisedEvent[]
  /** Violations that were seen during the run, each a sentence. */
  readonly violations: string[]
  /** Milliseconds from the approval of a subscription until every gateway that is up served its key; measured for at most 30 s. */
  readonly propagationMs: number[]
  /** Request ids of calls whose response promises a metering event. */
  readonly metered: Set<string>
}

export function emptyRecord(seed: number): RunRecord {
  return {
    seed,
    calls: [],
    faults: [],
    promised: [],
    violations: [],
    propagationMs: [],
    metered: new Set(),
  }
}
