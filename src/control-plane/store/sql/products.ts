/** Queries on products, whose reads leave out removed ones, and the columns of a product. */
import { type SqlBool, sql } from 'kysely'
import type { ProductRepository } from '../repositories.ts'
import { first, given, inScope, isRow, matches, page } from './listing.ts'
import type { SqlSession } from './session.ts'
import { visitedTenants } from './tenants.ts'

export const PRODUCT_COLUMNS = [
  'id',
  'tenantId',
  'slug',
  'name',
  'description',
  'plan',
  'apiIds',
  'portalVisibility',
  'revision',
  'createdAt',
  'updatedAt',
] as const

/** `update` and `remove` match a removed product too: callers find it first. */
export function productRepository({ db, scope, now }: SqlSession): ProductRepository {
  const mine = () => db.selectFrom('products').where('deletedAt', 'is', null).where(inScope(scope))
  return {
    async insert(product) {
      await db
        .insertInto('products')
        .values({ ...product, apiIds: JSON.stringify(product.apiIds) })
        .execute()
    },
    find: (id, locking) => first(mine().where('id', '=', id).select(PRODUCT_COLUMNS), locking),
    async list({ q, portalVisibility, tenantId, forVisitors }, request) {
      let query = mine().where(eb => eb.and(given({ portalVisibility, tenantId })))
      if (forVisitors === true)
        query = query
          .where('portalVisibility', '=', true)
          .where('tenantId', 'in', visitedTenants(db))
          .where(eb =>
            eb.exists(
              eb
                .selectFrom('apis')
                .where('apis.deletedAt', 'is', null)
                .where('apis.visibility', '=', 'public')
                .where('apis.portalVisibility', '=', true)
                .where('apis.status', '!=', 'retired')
                .whereRef('apis.tenantId', '=', 'products.tenantId')
                .where(sql<SqlBool>`products.api_ids @> to_jsonb(apis.id)`)
                .select('apis.id'),
            ),
          )
      if (q !== undefined)
        query = query.where(eb => matches(eb, [eb.ref('slug'), eb.ref('name'), eb.ref('description')], q))
      return page(
        query,
        from => from.select(PRODUCT_COLUMNS.map(column => `products.${column}` as const)),
        request,
      )
    },
    async update(product) {
      const { id, tenantId, slug: _slug, createdAt: _createdAt, revision, apiIds, ...fields } = product
      return db
        .updateTable('products')
        .set({ ...fields, apiIds: JSON.stringify(apiIds), revision: revision + 1, updatedAt: now })
        .where(isRow(scope, { id, tenantId }))
        .returning(PRODUCT_COLUMNS)
        .executeTakeFirstOrThrow()
    },
    async remove(id) {
      await db.updateTable('products').set({ deletedAt: now }).where(isRow(scope, { id })).execute()
    },
    holding: apiId =>
      mine()
        .where(sql<SqlBool>`api_ids @> to_jsonb(${apiId}::text)`)
        .select(PRODUCT_COLUMNS)
        .orderBy('id')
        .forNoKeyUpdate()
        .execute(),
  }
}
