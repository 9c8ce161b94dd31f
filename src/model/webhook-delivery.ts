/** A delivery of a message to a webhook, its states as pure functions, and its limits. */
import type { WebhookEventKind } from './event.ts'
import { illegal, moved, type Transition } from './transition.ts'

export const DELIVERY_STATUSES = ['success', 'failed', 'pending'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** Bounds of deliveries (docs/reference/events.md, Delivery of webhook events). */
export const MAX_ATTEMPTS = 5
export const MAX_STORED_RESPONSE_BYTES = 1024

const MINUTE_MS = 60_000
/** Wait before attempt 2, 3, 4 and 5 (docs/reference/events.md, Delivery of webhook events). */
export const RETRY_DELAYS_MS: readonly number[] = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS]
/** Added to a wait at most, as a share of it (docs/reference/events.md, Delivery of webhook events): receivers that failed together are not called together again. */
const JITTER = 0.1

export interface Delivery {
  readonly id: string
  readonly tenantId: string
  readonly webhookId: string
  readonly event: WebhookEventKind
  readonly test: boolean
  readonly status: DeliveryStatus
  /** Attempts made whose outcome is known, 0 to 5. */
  readonly attempt: number
  /** Status code of the last response; null when there was none. */
  readonly statusCode: number | null
  /** Beginning of the last response, at most `MAX_STORED_RESPONSE_BYTES` in UTF-8. */
  readonly responseBody: string | null
  /** Why the last attempt failed; null when it succeeded. */
  readonly error: string | null
  /** Duration of the last attempt. */
  readonly durationMs: number | null
  /** null when no attempt is to come. */
  readonly nextAttemptAt: Date | null
  readonly deliveredAt: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What became of one attempt. */
export interface AttemptOutcome {
  readonly delivered: boolean
  readonly statusCode: number | null
  readonly responseBody: string | null
  readonly error: string | null
  readonly durationMs: number
}

export type AfterAttempt = Pick<
  Delivery,
  | 'status'
  | 'attempt'
  | 'statusCode'
  | 'responseBody'
  | 'error'
  | 'durationMs'
  | 'nextAttemptAt'
  | 'deliveredAt'
>

/**
 * The state after an attempt (docs/reference/events.md, Delivery of webhook events).
 * @param attempts made before this one
 * @param random from 0 to 1: how much of the jitter is added
 */
export function afterAttempt(
  attempts: number,
  { delivered, ...seen }: AttemptOutcome,
  at: Date,
  random: number,
): AfterAttempt {
  const attempt = Math.min(attempts + 1, MAX_ATTEMPTS)
  if (delivered) return { ...seen, attempt, status: 'success', nextAttemptAt: null, deliveredAt: at }
  const delayMs = attempts < MAX_ATTEMPTS ? RETRY_DELAYS_MS[attempt - 1] : undefined
  if (delayMs === undefined) {
    return { ...seen, attempt, status: 'failed', nextAttemptAt: null, deliveredAt: null }
  }
  const waitMs = Math.round(delayMs * (1 + JITTER * random))
  return {
    ...seen,
    attempt,
    status: 'pending',
    nextAttemptAt: new Date(at.getTime() + waitMs),
    deliveredAt: null,
  }
}

/** failed → pending, for one more attempt: when it fails too, nothing follows by itself. */
export function retryDelivery(delivery: Delivery, at: Date): Transition<Delivery> {
  if (delivery.status !== 'failed') {
    return illegal(
      delivery.status === 'pending'
        ? 'The delivery is pending. Only a failed delivery can be retried.'
        : 'The delivery was successful. Only a failed delivery can be retried.',
    )
  }
  return moved({ ...delivery, status: 'pending', nextAttemptAt: at })
}
