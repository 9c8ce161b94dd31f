/** Finds, creates, changes and deletes products, and removes an API from them. It handles no HTTP except `If-Match` and the problems it throws. */
import type { ApiStatus } from '../../../model/api.ts'
import type { Product } from '../../../model/product.ts'
import type { Transaction } from '../../store/store.ts'
import { checkIfMatch } from '../http/entity-tag.ts'
import { type FieldFault, invalid, requireFound } from '../http/problem.ts'
import { type AskPolicy, requireAuthority } from './authority.ts'
import { applyPatch, newRecord, type Patch } from './records.ts'
import { revokeSubscription } from './subscriptions.ts'

type ProductFields = Pick<Product, 'name' | 'description' | 'plan' | 'apiIds' | 'portalVisibility'>

/**
 * @param kept ids of APIs that may be retired: a configuration repeats a product whose APIs were retired later
 * @throws Problem validation_error for an unknown plan or API
 */
export async function createProduct(
  tx: Transaction,
  tenantId: string,
  slug: string,
  fields: ProductFields,
  kept: readonly string[] = [],
): Promise<Product> {
  await requireParts(tx, fields, await lockApis(tx, fields.apiIds), kept)
  const product: Product = { ...fields, ...newRecord(tx, 'product'), tenantId, slug }
  await tx.products.insert(product)
  announce(tx, 'product.created', product)
  return product
}

/** @throws Problem not_found */
export async function findProduct(tx: Transaction, id: string): Promise<Product> {
  return requireFound(await tx.products.find(id), 'product')
}

/**
 * Open subscriptions have the new APIs at once; another plan concerns new subscriptions only.
 * @throws Problem forbidden, not_found, precondition_failed, validation_error
 */
export async function patchProduct(
  tx: Transaction,
  id: string,
  patch: Patch<ProductFields>,
  ifMatch: string,
  ask: AskPolicy,
): Promise<Product> {
  // before the product, in the order in which the deletion of an API locks them
  const apis = await lockApis(tx, patch.apiIds)
  const product = requireFound(await tx.products.find(id, 'lock'), 'product')
  await requireAuthority('product', product, patch, ask)
  checkIfMatch(ifMatch, product.revision)
  await requireParts(tx, patch, apis, product.apiIds)
  const updated = await tx.products.update(applyPatch(product, patch))
  announce(tx, 'product.updated', updated)
  return updated
}

/** Revokes its subscriptions. @throws Problem not_found, precondition_failed */
export async function deleteProduct(tx: Transaction, id: string, ifMatch = ''): Promise<void> {
  const product = requireFound(await tx.products.find(id, 'exclusive'), 'product')
  checkIfMatch(ifMatch, product.revision)
  for (const subscription of await tx.subscriptions.openOf({ productId: id }))
    await revokeSubscription(tx, subscription, 'The product was deleted.')
  await tx.products.remove(id)
  announce(tx, 'product.deleted', product)
}

/** Takes an API that is deleted out of the products that hold it. */
export async function withdrawFromProducts(tx: Transaction, apiId: string): Promise<void> {
  for (const product of await tx.products.holding(apiId)) {
    const apiIds = product.apiIds.filter(id => id !== apiId)
    announce(tx, 'product.updated', await tx.products.update({ ...product, apiIds }))
  }
}

type LockedApis = ReadonlyMap<string, { readonly status: ApiStatus }>

/** By id; none of them is deleted meanwhile. */
async function lockApis(tx: Transaction, ids: readonly string[] = []): Promise<LockedApis> {
  return new Map((await tx.apis.listByIds(ids, 'lock')).map(api => [api.id, api]))
}

async function requireParts(
  tx: Transaction,
  { plan, apiIds = [] }: Patch<ProductFields>,
  known: LockedApis,
  kept: readonly string[],
): Promise<void> {
  const faults: FieldFault[] = []
  if (plan !== undefined && (await tx.plans.bySlug(plan)) === undefined)
    faults.push({ field: 'plan', message: 'must be the slug of a plan that exists.' })
  for (const [at, id] of apiIds.entries()) {
    const message =
      known.get(id)?.status === 'retired' && !kept.includes(id)
        ? 'must not be the id of a retired API.'
        : known.has(id)
          ? undefined
          : 'must be the id of an API of this tenant.'
    if (message !== undefined) faults.push({ field: `api_ids.${at}`, message })
  }
  if (faults.length > 0) throw invalid(faults)
}

function announce(
  tx: Transaction,
  kind: 'product.created' | 'product.updated' | 'product.deleted',
  { id, tenantId, slug }: Product,
): void {
  tx.events.append({ kind, tenantId, resourceId: id, data: { product_id: id, slug } })
}
