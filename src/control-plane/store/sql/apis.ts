/** Queries on APIs, whose reads leave out removed ones, and the columns of an API. Rules of the life cycle are in `model/api.ts`. */
import { type SqlBool, sql } from 'kysely'
import type { Api } from '../../../model/api.ts'
import type { ApiRepository } from '../repositories.ts'
import { EVERY_TENANT } from '../store.ts'
import { first, given, inScope, isRow, matches, page, withLock } from './listing.ts'
import type { SqlSession } from './session.ts'
import { visitedTenants } from './tenants.ts'

export const API_COLUMNS = [
  'id',
  'tenantId',
  'name',
  'description',
  'type',
  'upstreamUrl',
  'mcp',
  'path',
  'version',
  'versioning',
  'authRequired',
  'requestsPerHour',
  'passthrough',
  'traffic',
  'spec',
  'portalVisibility',
  'visibility',
  'sharing',
  'pendingDefinitions',
  'acceptedSpecHash',
  'status',
  'deprecatedAt',
  'deprecation',
  'revision',
  'createdAt',
  'updatedAt',
] as const

const LISTED_COLUMNS = API_COLUMNS.filter(column => column !== 'spec')

/** null becomes the JSON null, which is read as null. */
function jsonOf({ mcp, passthrough, traffic, versioning, deprecation, sharing, pendingDefinitions }: Api) {
  return {
    mcp: JSON.stringify(mcp),
    passthrough: JSON.stringify(passthrough),
    traffic: JSON.stringify(traffic),
    versioning: JSON.stringify(versioning),
    deprecation: JSON.stringify(deprecation),
    sharing: JSON.stringify(sharing),
    pendingDefinitions: JSON.stringify(pendingDefinitions),
  }
}

/** `update` and `remove` match a removed API too: callers find it first. */
export function apiRepository({ db, scope, now }: SqlSession): ApiRepository {
  const selectKept = () => db.selectFrom('apis').where('deletedAt', 'is', null)
  const mine = () => selectKept().where(inScope(scope))
  /** Shared with the tenant of the scope; without those that their owner does not show. */
  const isShared = sql<SqlBool>`sharing -> 'with' ?| array['*', ${scope}]::text[] and portal_visibility`
  return {
    async insert(api) {
      await db
        .insertInto('apis')
        .values({ ...api, ...jsonOf(api) })
        .execute()
    },
    find: (id, locking) => first(mine().where('id', '=', id).select(API_COLUMNS), locking),
    findShared: id =>
      scope === EVERY_TENANT
        ? Promise.resolve(undefined)
        : first(selectKept().where(isShared).where('id', '=', id).select(API_COLUMNS)),
    async list({ q, status, portalVisibility, offered, tenantId, forVisitors, sharedToo }, request) {
      const within =
        sharedToo === true && scope !== EVERY_TENANT
          ? selectKept().where(eb => eb.or([inScope(scope), isShared]))
          : mine()
      let query = within.where(eb => eb.and(given({ status, portalVisibility, tenantId })))
      if (q !== undefined) {
        query = query.where(eb => matches(eb, [eb.ref('name'), eb.ref('description'), eb.ref('path')], q))
      }
      if (forVisitors === true)
        query = query
          .where('visibility', '=', 'public')
          .where('portalVisibility', '=', true)
          .where('tenantId', 'in', visitedTenants(db))
      if (offered === true || forVisitors === true) query = query.where('status', '!=', 'retired')
      return page(
        query,
        from =>
          from
            .select(LISTED_COLUMNS.map(column => `apis.${column}` as const))
            // documents are large, and no list shows them
            .select(sql<null>`null`.as('spec')),
        request,
      )
    },
    async update(api) {
      const { id, tenantId, createdAt: _createdAt, revision, ...fields } = api
      return db
        .updateTable('apis')
        .set({ ...fields, ...jsonOf(api), revision: revision + 1, updatedAt: now })
        .where(isRow(scope, { id, tenantId }))
        .returning(API_COLUMNS)
        .executeTakeFirstOrThrow()
    },
    async listByIds(ids, locking) {
      if (ids.length === 0) return []
      const query = mine()
        .where('id', 'in', [...ids])
        .select(['id', 'name', 'version', 'status', 'portalVisibility', 'visibility'])
        .orderBy('id')
      return withLock(query, locking).execute()
    },
    async atPaths(tenantId, paths) {
      return mine()
        .where('tenantId', '=', tenantId)
        .where('path', 'in', [...paths])
        .select(API_COLUMNS)
        .orderBy('id')
        .execute()
    },
    async remove(id) {
      await db.updateTable('apis').set({ deletedAt: now }).where(isRow(scope, { id })).execute()
    },
  }
}
