/** An API key as it is stored, and its life cycle as pure functions. `identity/api-key-format.ts` makes keys. */
import { illegal, moved, type Transition, unchanged } from './transition.ts'

export const API_KEY_STATUSES = ['active', 'rotating', 'expired', 'revoked'] as const
export type ApiKeyStatus = (typeof API_KEY_STATUSES)[number]

/** What is kept of a key: its public part for people, its SHA-256 (hex, of the whole key) for the gateway. */
export interface KeyDigest {
  /** `tgk_` and the 8 public characters. */
  readonly prefix: string
  readonly hash: string
}

export interface ApiKey extends KeyDigest {
  readonly id: string
  readonly tenantId: string
  readonly subscriptionId: string
  readonly name: string
  /** The key before the last rotation; it works until `previousExpiresAt`. */
  readonly previousPrefix: string | null
  readonly previousHash: string | null
  readonly previousExpiresAt: Date | null
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
  /** The expiry date that was announced. */
  readonly expiryAnnounced: Date | null
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The state at a moment: time alone moves a key from rotating to active and to expired, so no timer is needed. */
export function keyStatus(
  key: Pick<ApiKey, 'revokedAt' | 'expiresAt' | 'previousExpiresAt'>,
  at: Date,
): ApiKeyStatus {
  if (key.revokedAt !== null) return 'revoked'
  if (key.expiresAt !== null && key.expiresAt <= at) return 'expired'
  if (key.previousExpiresAt !== null && key.previousExpiresAt > at) return 'rotating'
  return 'active'
}

/**
 * active or rotating → rotating (active at once when the grace is 0). A key that was still in its grace period from an earlier
 * rotation stops working: a second rotation means that the older one is to be revoked.
 */
export function rotateKey(key: ApiKey, fresh: KeyDigest, graceMs: number, at: Date): Transition<ApiKey> {
  const status = keyStatus(key, at)
  if (status === 'revoked' || status === 'expired')
    return illegal(`An API key that is ${status} cannot be rotated.`)
  const grace =
    graceMs > 0
      ? {
          previousPrefix: key.prefix,
          previousHash: key.hash,
          previousExpiresAt: new Date(at.getTime() + graceMs),
        }
      : { previousPrefix: null, previousHash: null, previousExpiresAt: null }
  return moved({ ...key, ...fresh, ...grace })
}

/** any → revoked, which is final; the key of a running grace period dies with it. Revoking once more changes nothing. */
export function revokeKey(key: ApiKey, at: Date): Transition<ApiKey> {
  if (key.revokedAt !== null) return unchanged(key)
  return moved({ ...key, revokedAt: at, previousPrefix: null, previousHash: null, previousExpiresAt: null })
}
