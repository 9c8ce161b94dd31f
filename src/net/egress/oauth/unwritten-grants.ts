/** Renewed grants that the store did not take: this thread holds them and writes them again for a time. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ConnectionStore } from './connection-store.ts'

interface UnwrittenGrant<Granted> {
  readonly granted: Granted
  /** The grant, sealed. */
  readonly sealed: string
  /** The stored text that it replaces: its refresh token is invalid. */
  readonly before: string
  /** Held meanwhile, because another thread or instance would use that refresh token. Never rejects. */
  readonly unlock: () => Promise<void>
  /** Called when the connection was removed in the meantime. Never rejects. */
  readonly revoke: () => Promise<void>
}

interface Bounds {
  readonly maxGrants: number
  readonly maxAttempts: number
  readonly maxMs: number
  /** Between attempts; each wait is twice as long as the one before. */
  readonly firstWaitMs: number
  readonly maxWaitMs: number
}

const BOUNDS: Bounds = {
  maxGrants: 1_000,
  maxAttempts: 150,
  maxMs: 600_000,
  firstWaitMs: 100,
  maxWaitMs: 5_000,
}

/** @param held grants that the store has not taken yet @param lost grants that were given up so far: these users have to connect again */
export type ReportUnwritten = (held: number, lost: number) => void

export class UnwrittenGrants<Granted> {
  readonly #bounds: Bounds
  readonly #report: ReportUnwritten
  #lost = 0
  /** By key of the connection; the oldest is first. */
  readonly #grants = new Map<string, UnwrittenGrant<Granted>>()

  /** @param report called after each change of the numbers */
  constructor(report: ReportUnwritten, bounds: Partial<Bounds> = {}) {
    this.#report = report
    this.#bounds = { ...BOUNDS, ...bounds }
  }

  get(key: string): UnwrittenGrant<Granted> | undefined {
    return this.#grants.get(key)
  }

  /** Begins to write it in the background. Where there are too many, the oldest is dropped. */
  hold(store: ConnectionStore, key: string, grant: UnwrittenGrant<Granted>): void {
    this.#grants.set(key, grant)
    if (this.#grants.size > this.#bounds.maxGrants) {
      this.#grants.delete(this.#grants.keys().next().value as string)
      this.#lost++
    }
    this.#report(this.#grants.size, this.#lost)
    void this.#write(store, key, grant)
  }

  /** Ends the attempts to write it. */
  drop(key: string): void {
    if (this.#grants.delete(key)) this.#report(this.#grants.size, this.#lost)
  }

  async #write(store: ConnectionStore, key: string, grant: UnwrittenGrant<Granted>): Promise<void> {
    const { firstWaitMs, maxWaitMs, maxMs, maxAttempts } = this.#bounds
    const untilMs = performance.now() + maxMs
    let waitMs = firstWaitMs
    let settled = false
    for (let attempt = 0; attempt < maxAttempts && performance.now() < untilMs && !settled; attempt++) {
      // a process that ends does not wait for it
      await sleep(waitMs, undefined, { ref: false })
      waitMs = Math.min(waitMs * 2, maxWaitMs)
      settled = this.#grants.get(key) !== grant || (await isSettled(store, key, grant))
    }
    if (this.#grants.get(key) === grant) {
      if (!settled) this.#lost++
      this.drop(key)
    }
    await grant.unlock()
  }
}

/** Whether it is stored, or another one took its place. */
async function isSettled(
  store: ConnectionStore,
  key: string,
  { before, sealed, revoke }: UnwrittenGrant<unknown>,
): Promise<boolean> {
  try {
    if (await store.replace(key, before, sealed)) return true
    // connected again, perhaps with the same account: to revoke the token before could end the new one as well
    if ((await store.read(key)) === undefined) await revoke()
    return true
  } catch {
    return false
  }
}
