/** Moves subscriptions from an API to another API, or from a product to another product. */
import { type Api, isSharedWith } from '../../../model/api.ts'
import { migrate, type Subscription, type SubscriptionTarget } from '../../../model/subscription.ts'
import type { Transaction } from '../../store/store.ts'
import { conflict, invalidField, requireFound } from '../http/problem.ts'
import { eventOf } from './subscription-event.ts'

/** For one call. */
const MAX_MIGRATED = 1000

interface Selection {
  /** undefined: those of every application. */
  readonly applications: readonly string[] | undefined
  readonly reason: string | null
}

interface Migration {
  readonly migrated: readonly Subscription[]
  /** Subscriptions whose applications have an open subscription to the target already, or with whose tenant the target is not shared. */
  readonly skipped: readonly Subscription[]
  /** Number of those that a repeated call would migrate. */
  readonly remaining: number
}

interface Move {
  readonly from: SubscriptionTarget
  readonly to: SubscriptionTarget
  /** Whether the application of that tenant may be subscribed to the target. */
  readonly isOpenTo: (subscriberTenantId: string) => boolean
  /** Read once for all events; undefined: it is a product. */
  readonly api: Api | undefined
  /** For the event, beside the reason. */
  readonly data: { readonly [field: string]: string }
}

/** @throws Problem not_found, validation_error, conflict for an API that accepts no subscriptions */
export async function migrateToApi(
  tx: Transaction,
  fromApiId: string,
  toApiId: string,
  selection: Selection,
): Promise<Migration> {
  const from = requireFound(await tx.apis.find(fromApiId), 'API')
  const to = await tx.apis.find(toApiId)
  if (to === undefined || to.tenantId !== from.tenantId)
    throw invalidField('to_api_id', 'must be the id of an API of this tenant.')
  if (to.id === from.id) throw invalidField('to_api_id', 'must differ from the API in the path.')
  if (to.status === 'retired')
    throw conflict(
      'The API in to_api_id is retired and accepts no subscriptions. Send the id of another API.',
    )
  const move = {
    from: { apiId: from.id, productId: null },
    to: { apiId: to.id, productId: null },
    isOpenTo: (tenantId: string) => isSharedWith(to, tenantId),
    api: to,
    data: { from_api_id: from.id, from_version: from.version, to_version: to.version },
  }
  return moveAll(tx, move, selection)
}

/** @throws Problem not_found, validation_error */
export async function migrateToProduct(
  tx: Transaction,
  fromProductId: string,
  toProductId: string,
  selection: Selection,
): Promise<Migration> {
  const from = requireFound(await tx.products.find(fromProductId), 'product')
  const to = await tx.products.find(toProductId)
  if (to === undefined || to.tenantId !== from.tenantId)
    throw invalidField('to_product_id', 'must be the id of a product of this tenant.')
  if (to.id === from.id) throw invalidField('to_product_id', 'must differ from the product in the path.')
  const move = {
    from: { apiId: null, productId: from.id },
    to: { apiId: null, productId: to.id },
    // products are not shared
    isOpenTo: () => false,
    api: undefined,
    data: { from_product_id: from.id },
  }
  return moveAll(tx, move, selection)
}

async function moveAll(tx: Transaction, move: Move, { applications, reason }: Selection): Promise<Migration> {
  // both in one order, so that two calls in opposite directions do not wait for each other
  const locked = new Map<SubscriptionTarget, readonly Subscription[]>()
  for (const end of [move.from, move.to].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1)))
    locked.set(end, await tx.subscriptions.openOf(ofTarget(end)))
  const subscribed = new Set(locked.get(move.to)!.map(({ application }) => application))
  const wanted = locked
    .get(move.from)!
    .filter(({ application }) => applications?.includes(application) !== false)
  const mayMove = ({ application, subscriberTenantId }: Subscription) =>
    !subscribed.has(application) && (subscriberTenantId === null || move.isOpenTo(subscriberTenantId))
  const movable = wanted.filter(mayMove)
  const migrated: Subscription[] = []
  for (const subscription of movable.slice(0, MAX_MIGRATED)) {
    const change = migrate(subscription, move.to)
    if (!change.ok) throw conflict(change.reason)
    const updated = await tx.subscriptions.update(change.value)
    tx.events.append(await eventOf(tx, 'subscription.migrated', updated, { ...move.data, reason }, move.api))
    migrated.push(updated)
  }
  return {
    migrated,
    skipped: wanted.filter(each => !mayMove(each)),
    remaining: movable.length - migrated.length,
  }
}

function idOf({ apiId, productId }: SubscriptionTarget): string {
  return apiId ?? productId ?? ''
}

function ofTarget({ apiId, productId }: SubscriptionTarget) {
  return apiId === null ? { productId: productId! } : { apiId }
}
