/** The cross-origin rule of an API, its defaults and limits, and the form of an origin. */

export interface CorsRule {
  /** As browsers send them, or `*` alone: every origin. */
  readonly origins: readonly string[]
  /** null: those of the API. */
  readonly methods: readonly string[] | null
  readonly allowHeaders: readonly string[]
  readonly exposeHeaders: readonly string[]
  /** A page may send what its browser holds for the gateway. */
  readonly credentials: boolean
  readonly maxAgeSecs: number
}

/** A page needs them for a call with a credential or a body. */
export const DEFAULT_ALLOW_HEADERS = ['authorization', 'content-type', 'x-api-key'] as const
export const MAX_CORS_AGE_SECS = 86_400

/** True for an origin as browsers write it (RFC 6454 §6.2): scheme, host in lower case, and a port that is not the default. */
export function isOrigin(text: string): boolean {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false
  return new URL(text).origin === text
}
