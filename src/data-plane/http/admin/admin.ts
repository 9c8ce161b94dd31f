/** The admin endpoints for session statistics, quotas and caches (docs/reference/http.md, Administration). `admin-call.ts` runs the pipeline first. */
import { type Principal, reachesEveryTenant } from '../../../model/principal.ts'
import { isConsumer, isPartOf, nameOfPart, partsOf } from '../../quota/counter-key.ts'
import { POLICY_LIMIT_KEY, type Quota, type QuotaStatistics } from '../../quota/quota.ts'
import type { Snapshot } from '../../snapshot/snapshot.ts'
import type { Call } from '../call.ts'
import type { GatewayParts } from '../gateway.ts'
import { SESSIONS_UNAVAILABLE } from '../mcp/replies.ts'
import type { RestTools } from '../rest.ts'
import { adminAction, type RecordAdminAction } from './admin-audit.ts'
import { type AdminResource, ignoreBody, serveAdmin } from './admin-call.ts'
import { counterOf } from './admin-counters.ts'

export interface AdminParts {
  readonly quota: Quota
  /** Clear the caches; each returns the number of entries evicted. */
  readonly caches: {
    readonly api_keys: () => number
    readonly tokens: () => number
    readonly decisions: () => number
    readonly results: () => number
    readonly responses: () => number
    readonly quota_statistics: () => number
  }
  readonly recordAction: RecordAdminAction
  /** How old the counts of `/admin/quotas` may be. */
  readonly statisticsTtlMs: number
}

/** Consumer quota statistics, as specified. Without a limit of a kind, limit and remaining are null; without any, `unlimited` is true. */
interface ConsumerStatistics {
  readonly consumer_id: string
  readonly daily_count: number
  readonly daily_limit: number | null
  readonly daily_remaining: number | null
  readonly monthly_count: number
  readonly monthly_limit: number | null
  readonly monthly_remaining: number | null
  readonly unlimited?: true
}

export class Admin {
  readonly #gateway: GatewayParts
  readonly #parts: AdminParts
  readonly #rest: RestTools
  #cached:
    | { readonly rows: readonly QuotaStatistics[]; readonly untilMs: number; readonly revision: number }
    | undefined

  constructor(gateway: GatewayParts, parts: AdminParts, rest: RestTools) {
    this.#gateway = gateway
    this.#parts = parts
    this.#rest = rest
    // cleared by a request to another thread or instance
    parts.quota.onCleared(() => this.#clear())
  }

  /** GET /admin/sessions/stats */
  sessionStatistics(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, 'sessions', async () => {
      const statistics = await this.#gateway.sessions.statistics(call.receivedAtMs)
      if (statistics === undefined) this.#rest.refuse(call, SESSIONS_UNAVAILABLE)
      else call.respond(200, statistics)
    })
  }

  /** GET /admin/quotas */
  quotas(call: Call, snapshot: Snapshot): void {
    this.#serve(call, snapshot, 'quotas', async caller =>
      call.respond(200, byConsumer(visibleTo(caller, await this.#statistics(call.receivedAtMs)))),
    )
  }

  /** GET /admin/quotas/{consumer_id} */
  quota(call: Call, snapshot: Snapshot, consumerId: string): void {
    this.#serve(call, snapshot, 'quotas', async caller => {
      const counted = (all: readonly QuotaStatistics[]) => rowsOf(consumerId, visibleTo(caller, all))
      let rows = counted(await this.#statistics(call.receivedAtMs))
      // its first call may be newer than what is cached
      if (rows.length === 0) rows = counted(await this.#readStatistics(call.receivedAtMs))
      const [found] = byConsumer(rows, consumerId)
      if (found === undefined) return this.#unknown(call, consumerId)
      const consumer = nameOfPart(consumerId)
      const tenants = [...new Set(rows.map(row => partsOf(row.key).tenant))]
      const plans = tenants
        .map(part => nameOfPart(part) ?? part)
        .flatMap(tenant =>
          snapshot
            .plansOf(tenant, consumer ?? consumerId, call.receivedAtMs)
            .map(choice => ({ tenant, ...choice })),
        )
      const uses = await this.#parts.quota.useOf(rows.map(row => row.key))
      const counters = rows.map((row, at) => counterOf(row, uses[at]!, snapshot, consumer))
      call.respond(200, { ...found, plans, counters })
    })
  }

  /** POST /admin/quotas/{consumer_id}/reset: every counter of the consumer, in all tenants that the caller reaches. */
  reset(call: Call, snapshot: Snapshot, consumerId: string): void {
    ignoreBody(this.#gateway, call)
    this.#serve(call, snapshot, 'quotas', async caller => {
      const rows = rowsOf(consumerId, visibleTo(caller, await this.#parts.quota.statistics()))
      if (rows.length === 0) return this.#unknown(call, consumerId)
      const keys = rows.map(row => row.key)
      const [before = null] = byConsumer(rows, consumerId)
      const resource = { type: 'quota', id: consumerId }
      await this.#parts.recordAction(adminAction(call, caller, 'admin.quotas.reset', resource, before))
      for (const key of keys) await this.#parts.quota.reset(key)
      this.#cached = undefined
      call.respond(
        200,
        byConsumer(
          rowsOf(consumerId, visibleTo(caller, await this.#parts.quota.statistics())),
          consumerId,
        )[0] ?? emptyRow(consumerId),
      )
    })
  }

  /** POST /admin/cache/clear */
  clearCache(call: Call, snapshot: Snapshot): void {
    ignoreBody(this.#gateway, call)
    this.#serve(call, snapshot, 'cache', async caller => {
      const resource = { type: 'cache', id: '*' }
      await this.#parts.recordAction(adminAction(call, caller, 'admin.cache.clear', resource, null))
      const cleared = this.#clear()
      await this.#parts.quota.clearElsewhere()
      call.respond(200, { status: 'ok', cleared })
    })
  }

  /** @returns the entries evicted in this thread */
  #clear(): Record<string, number> {
    const { api_keys, tokens, decisions, results, responses, quota_statistics } = this.#parts.caches
    const cached = this.#cached === undefined ? 0 : 1
    this.#cached = undefined
    return {
      api_keys: api_keys(),
      tokens: tokens(),
      decisions: decisions(),
      results: results(),
      responses: responses(),
      quota_statistics: quota_statistics() + cached,
    }
  }

  async #statistics(nowMs: number): Promise<readonly QuotaStatistics[]> {
    const known = this.#cached
    const isCurrent =
      known !== undefined && known.untilMs > nowMs && known.revision === this.#parts.quota.revision()
    return isCurrent ? known.rows : this.#readStatistics(nowMs)
  }

  async #readStatistics(nowMs: number): Promise<readonly QuotaStatistics[]> {
    const { quota, statisticsTtlMs } = this.#parts
    // read before the rows: a reset in between makes these stale
    const revision = quota.revision()
    const rows = await quota.statistics()
    this.#cached = { rows, untilMs: nowMs + statisticsTtlMs, revision }
    return rows
  }

  #serve(
    call: Call,
    snapshot: Snapshot,
    resource: AdminResource,
    respond: (caller: Principal) => Promise<void>,
  ): void {
    void serveAdmin(this.#gateway, this.#rest, call, snapshot, resource, respond)
  }

  #unknown(call: Call, consumerId: string): void {
    const message = `No call from consumer "${consumerId.slice(0, 64)}" has been counted.`
    call.respond(404, { error: 'not_found', message, request_id: call.requestId })
  }
}

/** @param consumerId its name, or the id under which it is listed */
function rowsOf(consumerId: string, rows: readonly QuotaStatistics[]): readonly QuotaStatistics[] {
  return rows.filter(
    ({ key }) => isConsumer(partsOf(key).consumer, consumerId) && !key.startsWith(POLICY_LIMIT_KEY),
  )
}

function emptyRow(consumer_id: string): ConsumerStatistics {
  return {
    consumer_id,
    daily_count: 0,
    daily_limit: 0,
    daily_remaining: 0,
    monthly_count: 0,
    monthly_limit: 0,
    monthly_remaining: 0,
  }
}

/** The counters that belong to the caller's tenant; all of them for a caller who reaches every tenant. */
function visibleTo(caller: Principal, rows: readonly QuotaStatistics[]): readonly QuotaStatistics[] {
  if (reachesEveryTenant(caller)) return rows
  const { tenant } = caller
  return tenant === undefined ? [] : rows.filter(({ key }) => isPartOf(partsOf(key).tenant, tenant))
}

/**
 * One row per consumer: counters of its tenants and subscriptions added up; one without a limit makes the sum unlimited.
 * @param only the consumer of all rows, which may list it by its name and by a digest
 */
function byConsumer(rows: readonly QuotaStatistics[], only?: string): readonly ConsumerStatistics[] {
  const sums = new Map<string, ConsumerStatistics>()
  for (const row of rows) {
    if (row.key.startsWith(POLICY_LIMIT_KEY)) continue
    const id = only ?? partsOf(row.key).consumer
    const sum = sums.get(id) ?? emptyRow(id)
    sums.set(id, {
      consumer_id: id,
      daily_count: sum.daily_count + row.dailyCount,
      daily_limit: plus(sum.daily_limit, row.dailyLimit, row.dailyLimit),
      daily_remaining: plus(sum.daily_remaining, row.dailyLimit, row.dailyLimit - row.dailyCount),
      monthly_count: sum.monthly_count + row.monthlyCount,
      monthly_limit: plus(sum.monthly_limit, row.monthlyLimit, row.monthlyLimit),
      monthly_remaining: plus(sum.monthly_remaining, row.monthlyLimit, row.monthlyLimit - row.monthlyCount),
    })
  }
  return [...sums.values()].map(row =>
    row.daily_limit === null && row.monthly_limit === null ? { ...row, unlimited: true } : row,
  )
}

/** @param limit 0: there is none */
function plus(sum: number | null, limit: number, addend: number): number | null {
  return sum === null || limit === 0 ? null : sum + Math.max(0, addend)
}
