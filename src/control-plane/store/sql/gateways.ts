/**
 * Queries on gateway instances and deployments, and the signal for a resync.
 * The rule of the status is in `model/gateway-instance.ts`, and repeated here in SQL.
 */
import { sql } from 'kysely'
import { OFFLINE_AFTER_MS } from '../../../model/gateway-instance.ts'
import { newId } from '../../../model/id.ts'
import type { DeploymentRepository, GatewayRepository } from '../repositories.ts'
import { first, given, inScope, matches, page } from './listing.ts'
import { CHANNEL, type SqlSession } from './session.ts'
import { resyncPayload } from './signal.ts'

export function gatewayRepository({ db, now }: SqlSession): GatewayRepository {
  /** `gatewayStatus` of model/gateway-instance.ts in SQL. */
  const silentSince = new Date(now.getTime() - OFFLINE_AFTER_MS)
  return {
    async register(id, { authConfig, ...report }) {
      const reported = { ...report, authConfig: JSON.stringify(authConfig), lastSeenAt: now, updatedAt: now }
      return db
        .insertInto('gateways')
        .values({
          id,
          ...reported,
          snapshotVersion: null,
          lastError: null,
          lastAckAt: null,
          resyncRequestedAt: null,
          // It continues, here and below: a report repeated after a restart or a removal must not count twice.
          reportSequence: sql<number>`coalesce(
              (select report_sequence from removed_gateways where name = ${report.name}), 0)`,
          createdAt: now,
        })
        .onConflict(conflict => conflict.column('name').doUpdateSet(reported))
        .returningAll()
        .executeTakeFirstOrThrow()
    },
    find: (id, locking) => first(db.selectFrom('gateways').where('id', '=', id).selectAll(), locking),
    async list({ q, status }, request) {
      let query = db.selectFrom('gateways')
      if (q !== undefined) query = query.where(eb => matches(eb, [eb.ref('name'), eb.ref('url')], q))
      if (status === 'offline') query = query.where('lastSeenAt', '<', silentSince)
      else if (status !== undefined) {
        query = query.where('lastSeenAt', '>=', silentSince).where('reportedStatus', '=', status)
      }
      return page(query, from => from.selectAll('gateways'), request)
    },
    async remove(id) {
      await db
        .insertInto('removedGateways')
        .columns(['name', 'reportSequence'])
        .expression(db.selectFrom('gateways').where('id', '=', id).select(['name', 'reportSequence']))
        .onConflict(conflict =>
          conflict.column('name').doUpdateSet(eb => ({ reportSequence: eb.ref('excluded.reportSequence') })),
        )
        .execute()
      await db.deleteFrom('gateways').where('id', '=', id).execute()
    },
    async live() {
      return db.selectFrom('gateways').where('lastSeenAt', '>=', silentSince).selectAll().execute()
    },
    async update(gateway) {
      const { id, name: _name, createdAt: _createdAt, authConfig, ...fields } = gateway
      return db
        .updateTable('gateways')
        .set({ ...fields, authConfig: JSON.stringify(authConfig), updatedAt: now })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
    },
    async requestResync(id) {
      await db.updateTable('gateways').set({ resyncRequestedAt: now }).where('id', '=', id).execute()
      await sql`select pg_notify(${CHANNEL}, ${resyncPayload(id)})`.execute(db)
    },
  }
}

export function deploymentRepository({ db, scope, now }: SqlSession): DeploymentRepository {
  const mine = () => db.selectFrom('deployments').where(inScope(scope))
  return {
    async find(id) {
      return mine().where('id', '=', id).selectAll().executeTakeFirst()
    },
    async list({ q, apiId, gatewayId, tenantId }, request) {
      let query = mine().where(eb => eb.and(given({ apiId, gatewayId, tenantId })))
      if (q !== undefined) {
        const apis = db.selectFrom('apis').where(eb => matches(eb, [eb.ref('name')], q))
        const gateways = db.selectFrom('gateways').where(eb => matches(eb, [eb.ref('name')], q))
        query = query.where(eb =>
          eb.or([eb('apiId', 'in', apis.select('id')), eb('gatewayId', 'in', gateways.select('id'))]),
        )
      }
      return page(query, from => from.selectAll('deployments'), request)
    },
    async complete(missing) {
      const pairs = await db
        .selectFrom('apis')
        .innerJoin('gateways', join => join.onTrue())
        .leftJoin('deployments', join =>
          join.onRef('deployments.apiId', '=', 'apis.id').onRef('deployments.gatewayId', '=', 'gateways.id'),
        )
        .where('deployments.id', 'is', null)
        .where('apis.deletedAt', 'is', null)
        .where(inScope(scope, 'apis.tenant_id'))
        .$if('apiId' in missing, query =>
          query.where('apis.id', '=', 'apiId' in missing ? missing.apiId : ''),
        )
        .$if('gatewayId' in missing, query =>
          query.where('gateways.id', '=', 'gatewayId' in missing ? missing.gatewayId : ''),
        )
        .select(['apis.id as apiId', 'apis.tenantId', 'gateways.id as gatewayId'])
        .execute()
      const rows = pairs.map(pair => ({
        ...pair,
        id: newId('deployment', now.getTime()),
        createdAt: now,
      }))
      for (let at = 0; at < rows.length; at += INSERT_BATCH) {
        await db
          .insertInto('deployments')
          .values(rows.slice(at, at + INSERT_BATCH))
          .onConflict(conflict => conflict.columns(['gatewayId', 'apiId']).doNothing())
          .execute()
      }
    },
  }
}

/** A statement takes 65,535 parameters at most. */
const INSERT_BATCH = 1_000
