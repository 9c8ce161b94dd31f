/** Implements `Quota` for a thread on the table of its process, with notices to the other threads. `table-quota.ts` decides the calls. */
import type {
  Quota,
  QuotaGrant,
  QuotaHealth,
  QuotaKey,
  QuotaRefusal,
  QuotaRequest,
  QuotaStatistics,
  QuotaUse,
} from '../quota.ts'
import type { Notices } from './notices.ts'
import type { TableQuota } from './table-quota.ts'

export interface LocalQuotaParts {
  readonly quota: TableQuota
  readonly notices: Notices
  /** Called after a reset by this thread, to record it. */
  readonly onReset?: (key: string) => void
  readonly close?: () => void
}

export class LocalQuota implements Quota {
  readonly #quota: TableQuota
  readonly #parts: LocalQuotaParts

  constructor(parts: LocalQuotaParts) {
    this.#quota = parts.quota
    this.#parts = parts
  }

  key(name: string): QuotaKey {
    return this.#quota.table.key(name)
  }

  take(request: QuotaRequest): QuotaGrant | QuotaRefusal {
    // a local reserver returns no promise
    return this.#quota.take(request) as QuotaGrant | QuotaRefusal
  }

  statistics(): readonly QuotaStatistics[] {
    return this.#quota.statistics()
  }

  usage(): readonly QuotaStatistics[] {
    return this.#quota.statistics()
  }

  statisticsOf(key: string): QuotaStatistics | undefined {
    return this.#quota.statisticsOf(key)
  }

  useOf(keys: readonly string[]): readonly QuotaUse[] {
    return keys.map(key => this.#quota.useOf(key))
  }

  reset(key: string): boolean {
    if (!this.#quota.reset(key)) return false
    this.#parts.onReset?.(key)
    return true
  }

  revision(): number {
    return this.#quota.table.revision
  }

  clearElsewhere(): void {
    this.#parts.notices.pass()
  }

  onCleared(listener: () => void): void {
    this.#parts.notices.listen(listener)
  }

  health(): QuotaHealth {
    return { ...this.#quota.table.health(), store: 'local', waited: 0 }
  }

  advance(ms: number): void {
    this.#quota.table.advance(ms)
  }

  async close(): Promise<void> {
    this.#parts.close?.()
    this.#parts.notices.close()
  }
}
