/** The interface of a store for sealed connections of users, and for locks on them. It stores nothing itself. */

export interface ConnectionStore {
  /** @throws Error when the store is unavailable; so do the others */
  read(key: string): Promise<string | undefined>
  write(key: string, sealed: string): Promise<void>
  remove(key: string): Promise<void>
  /** @returns releases the lock, which ends by itself after `ms`; undefined: another thread or instance has it */
  lock(key: string, ms: number): Promise<(() => Promise<void>) | undefined>
}
