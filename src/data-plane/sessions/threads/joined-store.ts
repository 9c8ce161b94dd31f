/**
 * The session store for a thread that has none: requests to the owner thread over a port, and a short cache. `thread-server.ts` serves the
 * requests.
 */

import type { MaybePromise } from '../../../base/and-then.ts'
import { BoundedMap } from '../../../base/async/bounded-map.ts'
import type { PortLine } from '../../../base/threads/port-line.ts'
import {
  type Channel,
  channelKey,
  type Replay,
  type ReplayEvent,
  type Session,
  type SessionFacts,
  type SessionSignal,
  type SessionStatistics,
  type SessionStore,
  type SettledFacts,
  type StreamRef,
} from '../session-store.ts'
import { SignalListeners } from '../signal-listeners.ts'
import { JoinedTaskStore } from './joined-tasks.ts'

/** How long a found session counts as alive. Other changes of it in this process evict the cached entry at once. */
const CACHE_MS = 1000
const MAX_CACHED = 10_000
/** How often this thread reports the sessions in use, so that they do not expire, and those without listeners. */
const TOUCH_EVERY_MS = 500

interface CacheEntry {
  readonly session: Session
  readonly untilMs: number
}

export class JoinedSessionStore implements SessionStore {
  readonly tasks: JoinedTaskStore
  readonly #line: PortLine
  readonly #listeners = new SignalListeners()
  readonly #cached = new BoundedMap<string, CacheEntry>(MAX_CACHED)
  readonly #used = new Set<string>()
  /** Ids whose signals are sent here; kept for a moment after the last listener, because calls arrive in series. */
  readonly #subscribed = new Set<string>()
  readonly #toucher: NodeJS.Timeout
  #usedAtMs = 0
  /** Changes with every eviction: a pending response may be older. */
  #epoch = 0

  /** @param line its other end is served by a `SessionThreadServer` */
  constructor(line: PortLine) {
    this.#line = line
    this.tasks = new JoinedTaskStore(line)
    line.serve({
      'session.signal': (id: string, signal: SessionSignal) => {
        // evicted before its listeners are called: they must not find it
        if (signal.kind === 'end') this.#evict(id)
        this.#listeners.deliver(id, signal)
        if (signal.kind === 'end') this.#listeners.removeAll(id)
      },
      'session.evict': (id: string) => this.#evict(id),
    })
    this.#toucher = setInterval(() => this.#touch(), TOUCH_EVERY_MS).unref()
  }

  async create(facts: SessionFacts): Promise<Session> {
    return this.#line.ask<Session>('session.create', facts)
  }

  find(id: string, nowMs: number): MaybePromise<Session | 'unavailable' | undefined> {
    const known = this.#cached.get(id)
    if (known === undefined || known.untilMs <= nowMs) return this.#ask(id, nowMs)
    this.#used.add(id)
    this.#usedAtMs = nowMs
    return known.session
  }

  async #ask(id: string, nowMs: number): Promise<Session | 'unavailable' | undefined> {
    const epoch = this.#epoch
    const session = await this.#line.ask<Session | 'unavailable' | undefined>('session.find', id, nowMs)
    if (session !== undefined && session !== 'unavailable' && epoch === this.#epoch) {
      this.#cached.set(id, { session, untilMs: nowMs + CACHE_MS })
    }
    return session
  }

  findExpired(ids: readonly string[], nowMs: number): Promise<readonly string[]> {
    // those that this thread has used since are reported first: this thread may have served them from its cache
    this.#touch()
    return this.#line.ask<readonly string[]>('session.findExpired', ids, nowMs)
  }

  async update(id: string, facts: SettledFacts): Promise<void> {
    this.#evict(id)
    await this.#line.ask('session.update', id, facts)
    this.#evict(id)
  }

  async claim(session: Session, owner: string): Promise<boolean> {
    const claimed = await this.#line.ask<boolean>('session.claim', session, owner)
    this.#evict(session.id)
    return claimed
  }

  async end(id: string): Promise<boolean> {
    const ended = await this.#line.ask<boolean>('session.end', id)
    this.#evict(id)
    return ended
  }

  async signal(channel: Channel, signal: SessionSignal): Promise<number> {
    return this.#line.ask<number>('session.signal', channelKey(channel), signal)
  }

  listen(channel: Channel, listener: (signal: SessionSignal) => void): () => void {
    const id = channelKey(channel)
    if (!this.#subscribed.has(id)) {
      this.#subscribed.add(id)
      this.#line.notify('session.listen', id)
    }
    return this.#listeners.listen(id, listener)
  }

  append(stream: StreamRef, event: ReplayEvent): void {
    this.#line.notify('session.append', stream, event)
  }

  async replay(stream: StreamRef, afterN: number): Promise<Replay | undefined> {
    return this.#line.ask<Replay | undefined>('session.replay', stream, afterN)
  }

  finish(stream: StreamRef): void {
    this.#line.notify('session.finish', stream)
  }

  async setStreaming(id: string, kind: 'legacy' | 'standalone', open: boolean): Promise<void> {
    this.#evict(id)
    // the streams of a thread end with it
    await this.#line.ask('session.streaming', id, kind, open).catch(() => {})
    this.#evict(id)
  }

  statistics(nowMs: number): Promise<SessionStatistics | undefined> {
    return this.#line.ask<SessionStatistics | undefined>('session.statistics', nowMs)
  }

  close(): void {
    this.#touch()
    clearInterval(this.#toucher)
  }

  #evict(id: string): void {
    this.#epoch++
    this.#cached.delete(id)
  }

  #touch(): void {
    for (const id of this.#subscribed) {
      if (this.#listeners.has(id)) continue
      this.#subscribed.delete(id)
      this.#line.notify('session.unlisten', id)
    }
    if (this.#used.size === 0) return
    this.#line.notify('session.touch', [...this.#used], this.#usedAtMs)
    this.#used.clear()
  }
}
