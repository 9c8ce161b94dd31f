/** The small records an exchange is made of. They hold no logic. */

/** Credentials as they arrived; a stage that keeps one beyond its run is wrong. '' when absent. */
export interface Credentials {
  readonly authorization: string
  readonly apiKey: string
  /** Value of `X-Tenant-ID`. */
  readonly tenant: string
}

export interface StageTiming {
  readonly stage: string
  /** `performance.now()`. */
  readonly startedAt: number
  readonly ms: number
}
