/** The interface of a store for sealed connections of users, and for locks on them. */

/** Each change is atomic for all threads and instances. A sealed text is never stored twice: it is the version of its connection. */
export interface ConnectionStore {
  /** @throws Error when the store is unavailable; so do the others */
  read(key: string): Promise<string | undefined>
  /** Also in place of another one. */
  write(key: string, sealed: string): Promise<void>
  /** Stores only in place of `before`. @returns whether it is stored now, also by an earlier call whose response was lost */
  replace(key: string, before: string, sealed: string): Promise<boolean>
  /** @param only the text to remove; absent: any. @returns the text that was removed */
  remove(key: string, only?: string): Promise<string | undefined>
  /** @returns releases the lock, which ends by itself after `ms`; undefined: another thread or instance has it */
  lock(key: string, ms: number): Promise<(() => Promise<void>) | undefined>
}
