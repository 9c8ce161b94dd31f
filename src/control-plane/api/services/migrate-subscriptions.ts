/** Moves the subscriptions of an API to another API or version, each with its event. It changes no key and no limit. */
import { isSharedWith } from '../../../model/api.ts'
import { migrate, type Subscription } from '../../../model/subscription.ts'
import type { Transaction } from '../../store/store.ts'
import { conflict, found, invalidField } from '../http/problem.ts'
import { eventOf } from './subscription-event.ts'

/** Of one call. */
const MAX_MIGRATED = 1000

interface MigrationRequest {
  readonly fromApiId: string
  readonly toApiId: string
  /** undefined: those of every application. */
  readonly applications: readonly string[] | undefined
  readonly reason: string | null
}

interface Migration {
  readonly migrated: readonly Subscription[]
  /** Their applications have an open subscription to the other API, or it is not shared with their tenant. */
  readonly skipped: readonly Subscription[]
  /** Number of those that a repeated call would migrate. */
  readonly remaining: number
}

/** @throws Problem not_found, validation_error, conflict for an API that accepts no subscriptions */
export async function migrateSubscriptions(tx: Transaction, request: MigrationRequest): Promise<Migration> {
  const { fromApiId, toApiId, applications, reason } = request
  const from = found(await tx.apis.find(fromApiId), 'API')
  const to = await tx.apis.find(toApiId)
  if (to === undefined || to.tenantId !== from.tenantId)
    throw invalidField('to_api_id', 'names no API of this tenant.')
  if (to.id === from.id) throw invalidField('to_api_id', 'names the same API.')
  if (to.status === 'retired') throw conflict('The API is retired and accepts no subscriptions.')
  // both in one order, so that two calls in opposite directions do not wait for each other
  const locked = new Map<string, readonly Subscription[]>()
  for (const id of [from.id, to.id].sort()) locked.set(id, await tx.subscriptions.openOf({ apiId: id }))
  const subscribed = new Set(locked.get(to.id)!.map(({ application }) => application))
  const wanted = locked
    .get(from.id)!
    .filter(({ application }) => applications?.includes(application) !== false)
  const mayMove = ({ application, subscriberTenantId }: Subscription) =>
    !subscribed.has(application) && (subscriberTenantId === null || isSharedWith(to, subscriberTenantId))
  const movable = wanted.filter(mayMove)
  const migrated: Subscription[] = []
  for (const subscription of movable.slice(0, MAX_MIGRATED)) {
    const move = migrate(subscription, to.id)
    if (!move.ok) throw conflict(move.reason)
    const updated = await tx.subscriptions.update(move.value)
    const data = { from_api_id: from.id, from_version: from.version, to_version: to.version, reason }
    tx.events.append(await eventOf(tx, 'subscription.migrated', updated, data, to))
    migrated.push(updated)
  }
  return {
    migrated,
    skipped: wanted.filter(each => !mayMove(each)),
    remaining: movable.length - migrated.length,
  }
}
