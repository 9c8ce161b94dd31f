/** The Store over a Kysely dialect of PostgreSQL, and the Kysely instance for it. The adapters provide the dialect and the listening for signals. */
import { CamelCasePlugin, type Dialect, Kysely, sql, type Transaction as Trx } from 'kysely'
import type { Sealer } from '../../../base/secrets/sealer.ts'
import type { MailOptions, StoreOptions } from '../opened-store.ts'
import {
  EVERY_TENANT,
  type Scope,
  type Signal,
  type Store,
  StoreConflict,
  StoreUnavailable,
  type Transaction,
  UNIQUE_CONSTRAINTS,
} from '../store.ts'
import { apiKeyRepository } from './api-keys.ts'
import { apiRepository } from './apis.ts'
import { auditRepository, flushAudit } from './audit.ts'
import { configurationRepository } from './configuration.ts'
import { consumerRepository } from './consumers.ts'
import { deliveryRepository } from './deliveries.ts'
import { eventRepository } from './events.ts'
import { flushEvents } from './flush-events.ts'
import { deploymentRepository, gatewayRepository } from './gateways.ts'
import { idempotencyRepository } from './idempotency.ts'
import { mailRepository } from './mails.ts'
import { meteringRepository } from './metering.ts'
import { noticeRepository } from './notices.ts'
import { planRepository } from './plans.ts'
import { productRepository } from './products.ts'
import { CHANNEL, enter, needsAppRole, type SqlSession, type TransactionSettings } from './session.ts'
import { sessionMarkRepository } from './session-marks.ts'
import { shareRepository } from './share.ts'
import { messagePayload } from './signal.ts'
import { subscriptionRepository } from './subscriptions.ts'
import type { Tables } from './tables.ts'
import { tenantRepository } from './tenants.ts'
import { tierUsageRepository, usageRepository } from './usage.ts'
import { webhookRepository } from './webhooks.ts'

export function database(dialect: Dialect): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect,
    plugins: [new CamelCasePlugin({ maintainNestedObjectKeys: true })],
  })
}

interface SqlStoreParts {
  readonly adapter: Store['adapter']
  readonly db: Kysely<Tables>
  readonly now: StoreOptions['now']
  readonly onClock: StoreOptions['onClock']
  readonly sealer: Sealer
  readonly settings?: TransactionSettings
  readonly mail: MailOptions | undefined
  /** Starts listening on CHANNEL; the returned function stops it. */
  readonly listen: (listener: (signal: Signal) => void) => Promise<() => Promise<void>>
  /** Called after the pool has been closed. */
  readonly onClose: () => Promise<void>
}

const ATTEMPTS = 3
/** SQLSTATE of serialization_failure and deadlock_detected. */
const RETRIED = new Set(['40001', '40P01'])
/** read_only_sql_transaction: in `write`, the server is a standby; in `read`, it is a bug of the caller. */
const READ_ONLY = '25006'

export function sqlStore(parts: SqlStoreParts): Store {
  const { db, now, onClock, sealer } = parts
  const listeners = new Set<(signal: Signal) => void>()
  let asAppRole: boolean | undefined
  let listening: Promise<() => Promise<void>> | undefined

  async function run<T>(trx: Trx<Tables>, scope: Scope, work: (tx: Transaction) => Promise<T>): Promise<T> {
    const databaseMs = await enter(
      trx,
      { scope, asAppRole: asAppRole ?? false, onClock },
      parts.settings ?? {},
    )
    const session: SqlSession = {
      db: trx,
      scope,
      now: new Date(now?.(databaseMs) ?? databaseMs),
      sealer,
      pendingEvents: [],
      pendingAudit: [],
      mail: parts.mail,
    }
    try {
      const result = await work(transaction(session))
      await flushEvents(session)
      await flushAudit(session)
      return result
    } catch (error) {
      throw withoutValues(error)
    }
  }

  return {
    adapter: parts.adapter,

    async write(scope, work) {
      asAppRole ??= await needsAppRole(db)
      for (let attempt = 1; ; attempt++) {
        try {
          return await db.transaction().execute(trx => run(trx, scope, work))
        } catch (error) {
          const state = sqlState(error)
          if (attempt < ATTEMPTS && RETRIED.has(state)) continue
          if (state === READ_ONLY || RETRIED.has(state)) throw new StoreUnavailable(error)
          throw conflict(error) ?? error
        }
      }
    },

    async read(scope, work) {
      asAppRole ??= await needsAppRole(db)
      return db
        .transaction()
        .setIsolationLevel('repeatable read')
        .setAccessMode('read only')
        .execute(trx => run(trx, scope, work))
    },

    async notify(messages) {
      await db.transaction().execute(async trx => {
        for (const text of messages)
          await sql`select pg_notify(${CHANNEL}, ${messagePayload(text)})`.execute(trx)
      })
    },

    onSignal(listener) {
      listeners.add(listener)
      listening ??= parts.listen(signal => {
        for (const each of listeners) each(signal)
      })
      return () => listeners.delete(listener)
    },

    async ping() {
      await sql`select 1`.execute(db)
    },

    async close() {
      const stop = await listening?.catch(() => undefined)
      await stop?.()
      await db.destroy()
      await parts.onClose()
    },
  }
}

function transaction(session: SqlSession): Transaction {
  return {
    scope: session.scope,
    now: session.now,
    tenants: tenantRepository(session),
    apis: apiRepository(session),
    plans: planRepository(session),
    products: productRepository(session),
    subscriptions: subscriptionRepository(session),
    keys: apiKeyRepository(session),
    consumers: consumerRepository(session),
    gateways: gatewayRepository(session),
    deployments: deploymentRepository(session),
    events: eventRepository(session),
    idempotency: idempotencyRepository(session),
    usage: usageRepository(session),
    metering: meteringRepository(session),
    tierUsage: tierUsageRepository(session),
    share: shareRepository(session),
    webhooks: webhookRepository(session),
    deliveries: deliveryRepository(session),
    notices: noticeRepository(session),
    mails: mailRepository(session),
    configuration: configurationRepository(session),
    sessionMarks: sessionMarkRepository(session),
    within(tenantId) {
      if (session.scope !== EVERY_TENANT && session.scope !== tenantId)
        throw new Error('the scope of a transaction can only become narrower')
      return transaction({ ...session, scope: tenantId })
    },
    audit: auditRepository(session),
  }
}

/** Errors of the database are logged with their fields: some hold the values of the statement or row, which can be secrets. */
function withoutValues(error: unknown): unknown {
  if (error instanceof Error) for (const field of ['params', 'detail']) Reflect.deleteProperty(error, field)
  return error
}

function sqlState(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? '')
}

function conflict(error: unknown): StoreConflict | undefined {
  if (sqlState(error) !== '23505') return undefined
  const name = (error as { constraint?: unknown }).constraint
  const constraint = UNIQUE_CONSTRAINTS.find(known => known === name)
  return constraint === undefined ? undefined : new StoreConflict(constraint)
}
