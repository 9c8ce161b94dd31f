/** The sessions of a process in one of its other threads: asked for over a port, remembered for a moment. It keeps none itself. */
import type { PortLine } from '../../../shared/threads/port-line.ts'
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
  type StreamRef,
} from '../session-store.ts'
import { SignalListeners } from '../signal-listeners.ts'

/** So long a session that was found is taken for alive. Whatever else changes about it is told at once. */
const REMEMBER_MS = 1000
const MAX_CACHED = 10_000
/** How often the sessions in use are named, so that they do not expire, and those that nobody listens to any more. */
const TOUCH_EVERY_MS = 500

interface CacheEntry {
  readonly session: Session
  readonly untilMs: number
}

export class JoinedSessionStore implements SessionStore {
  readonly #line: PortLine
  readonly #listeners = new SignalListeners()
  readonly #cached = new Map<string, CacheEntry>()
  readonly #used = new Set<string>()
  /** Ids whose signals are sent here; they stay a moment longer than somebody listens, as calls come in rows. */
  readonly #heard = new Set<string>()
  readonly #toucher: NodeJS.Timeout
  #usedAtMs = 0
  /** Changes with every word that something is not as it was: an answer under way may be older than that word. */
  #epoch = 0

  /** @param line its other end is served by a `SessionDesk` */
  constructor(line: PortLine) {
    this.#line = line
    line.serve({
      'session.signal': (id: string, signal: SessionSignal) => {
        // before the listeners hear of its end, nobody here may find it any more
        if (signal.kind === 'end') this.#forget(id)
        this.#listeners.deliver(id, signal)
        if (signal.kind === 'end') this.#listeners.forget(id)
      },
      'session.forget': (id: string) => this.#forget(id),
    })
    this.#toucher = setInterval(() => this.#touch(), TOUCH_EVERY_MS).unref()
  }

  async create(facts: SessionFacts): Promise<Session> {
    return this.#line.ask<Session>('session.create', facts)
  }

  find(id: string, nowMs: number): Session | undefined | Promise<Session | undefined> {
    const known = this.#cached.get(id)
    if (known === undefined || known.untilMs <= nowMs) return this.#ask(id, nowMs)
    this.#used.add(id)
    this.#usedAtMs = nowMs
    return known.session
  }

  async #ask(id: string, nowMs: number): Promise<Session | undefined> {
    const epoch = this.#epoch
    const session = await this.#line.ask<Session | undefined>('session.find', id, nowMs)
    if (session !== undefined && epoch === this.#epoch) {
      this.#cached.delete(id)
      if (this.#cached.size >= MAX_CACHED) this.#cached.delete(this.#cached.keys().next().value!)
      this.#cached.set(id, { session, untilMs: nowMs + REMEMBER_MS })
    }
    return session
  }

  async update(id: string, facts: Pick<SessionFacts, 'protocolVersion' | 'elicitation'>): Promise<void> {
    this.#forget(id)
    await this.#line.ask('session.update', id, facts)
    this.#forget(id)
  }

  async claim(session: Session, owner: string): Promise<boolean> {
    const claimed = await this.#line.ask<boolean>('session.claim', session, owner)
    this.#forget(session.id)
    return claimed
  }

  async end(id: string): Promise<boolean> {
    const ended = await this.#line.ask<boolean>('session.end', id)
    this.#forget(id)
    return ended
  }

  async signal(channel: Channel, signal: SessionSignal): Promise<number> {
    return this.#line.ask<number>('session.signal', channelKey(channel), signal)
  }

  listen(channel: Channel, listener: (signal: SessionSignal) => void): () => void {
    const id = channelKey(channel)
    if (!this.#heard.has(id)) {
      this.#heard.add(id)
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
    this.#forget(id)
    // a thread that has gone has taken its streams with it
    await this.#line.ask('session.streaming', id, kind, open).catch(() => {})
    this.#forget(id)
  }

  statistics(nowMs: number): Promise<SessionStatistics> {
    return this.#line.ask<SessionStatistics>('session.statistics', nowMs)
  }

  close(): void {
    this.#touch()
    clearInterval(this.#toucher)
  }

  #forget(id: string): void {
    this.#epoch++
    this.#cached.delete(id)
  }

  #touch(): void {
    for (const id of this.#heard) {
      if (this.#listeners.has(id)) continue
      this.#heard.delete(id)
      this.#line.notify('session.unlisten', id)
    }
    if (this.#used.size === 0) return
    this.#line.notify('session.touch', [...this.#used], this.#usedAtMs)
    this.#used.clear()
  }
}
