/** What a closed-loop run takes and returns, whichever tool sends the load. */
import type { Side } from './child.ts'
import type { LoadRequest } from './requests.ts'

export interface LoopResult {
  readonly perSecond: number
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

export interface LoopOptions {
  readonly url: string
  readonly request: LoadRequest
  readonly connections: number
  readonly seconds: number
  /** Where the load runs; connections of this process run where it runs. */
  readonly side: Side
}
