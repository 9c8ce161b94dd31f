/** Sessions of a process in memory, with their signals and replays, and the task store beside them. `session-id.ts` signs their ids. */
import type { KeyRing } from '../key-ring.ts'
import { mintSessionId, readSessionId } from '../session-id.ts'
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
import { ReplayBuffers } from './replay-buffers.ts'
import { MemoryTaskStore } from './tasks.ts'

export interface MemorySessionOptions {
  readonly keys: KeyRing
  /** Sliding. */
  readonly ttlMs: number
  /** Beyond it the session that was idle longest and has no stream is evicted; it bounds the ended ids as well. */
  readonly maxSessions: number
  readonly now: () => number
}

interface Entry {
  owner: string
  /** Set when `initialize` came after the id was minted. */
  settled: SettledFacts | undefined
  lastSeenMs: number
  legacyStreams: number
  standaloneStreams: number
}

function streamsOf(entry: Entry): number {
  return entry.legacyStreams + entry.standaloneStreams
}

const SWEEP_EVERY_MS = 30_000

export class MemorySessionStore implements SessionStore {
  readonly tasks: MemoryTaskStore
  readonly #options: MemorySessionOptions
  /** In order of last use: the first is idle longest. */
  readonly #alive = new Map<string, Entry>()
  /**
   * Ended ids in the order of their ends, until their TTL would have run out anyway. Beyond `maxSessions` of them the oldest is evicted:
   * until a TTL after its creation, its owner can use that id again, as one of before a restart. A client that opens and ends sessions in a
   * loop must not take memory without bound.
   */
  readonly #ended = new Map<string, number>()
  readonly #listeners = new SignalListeners()
  readonly #replays: ReplayBuffers
  readonly #sweeper: NodeJS.Timeout
  #totalCreated = 0

  constructor(options: MemorySessionOptions) {
    this.#options = options
    this.#replays = new ReplayBuffers(options.now)
    this.tasks = new MemoryTaskStore(options.now)
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_EVERY_MS).unref()
  }

  create(facts: SessionFacts): Session {
    const id = mintSessionId(facts, this.#options.keys)
    this.#makePlace()
    this.#alive.set(id, {
      owner: facts.owner,
      settled: undefined,
      lastSeenMs: this.#options.now(),
      legacyStreams: 0,
      standaloneStreams: 0,
    })
    this.#totalCreated++
    return { id, ...facts, legacyStream: false }
  }

  find(id: string, nowMs: number): Session | undefined {
    const facts = readSessionId(id, this.#options.keys)
    if (facts === undefined || this.#ended.has(id)) return undefined
    const entry = this.#alive.get(id)
    if (this.#isExpired(facts, entry, nowMs)) {
      this.#alive.delete(id)
      return undefined
    }
    const fresh: Entry = entry ?? {
      owner: facts.owner,
      settled: undefined,
      lastSeenMs: nowMs,
      legacyStreams: 0,
      standaloneStreams: 0,
    }
    fresh.lastSeenMs = nowMs
    if (entry === undefined) this.#makePlace()
    else this.#alive.delete(id)
    this.#alive.set(id, fresh)
    return { id, ...facts, ...fresh.settled, owner: fresh.owner, legacyStream: fresh.legacyStreams > 0 }
  }

  findExpired(ids: readonly string[], nowMs: number): readonly string[] {
    return ids.filter(id => {
      const facts = readSessionId(id, this.#options.keys)
      return facts === undefined || this.#ended.has(id) || this.#isExpired(facts, this.#alive.get(id), nowMs)
    })
  }

  #isExpired(facts: SessionFacts, entry: Entry | undefined, nowMs: number): boolean {
    if (entry !== undefined && streamsOf(entry) > 0) return false
    // not known but signed: minted before a restart; its age replaces the unknown idle time
    const lastSeenMs = entry?.lastSeenMs ?? facts.createdAtMs
    return nowMs - lastSeenMs > this.#options.ttlMs || facts.origin === 'stream'
  }

  update(id: string, facts: SettledFacts): void {
    const entry = this.#alive.get(id)
    if (entry !== undefined) entry.settled = facts
  }

  claim(session: Session, owner: string): boolean {
    const entry = this.#alive.get(session.id)
    if (entry === undefined) return false
    if (entry.owner === '') entry.owner = owner
    return entry.owner === owner
  }

  end(id: string): boolean {
    if (readSessionId(id, this.#options.keys) === undefined || this.#ended.has(id)) return false
    const entry = this.#alive.get(id)
    this.#alive.delete(id)
    const oldest = this.#ended.keys().next().value
    if (oldest !== undefined && this.#ended.size >= this.#options.maxSessions) this.#ended.delete(oldest)
    this.#ended.set(id, this.#options.now() + this.#options.ttlMs)
    this.signal(id, { kind: 'end' })
    this.#listeners.removeAll(id)
    return entry !== undefined
  }

  signal(channel: Channel, signal: SessionSignal): number {
    return this.#listeners.deliver(channelKey(channel), signal)
  }

  listen(channel: Channel, listener: (signal: SessionSignal) => void): () => void {
    return this.#listeners.listen(channelKey(channel), listener)
  }

  append(stream: StreamRef, event: ReplayEvent): void {
    this.#replays.append(channelKey(stream), event)
  }

  replay(stream: StreamRef, afterN: number): Replay | undefined {
    return this.#replays.replay(channelKey(stream), afterN)
  }

  finish(stream: StreamRef): void {
    this.#replays.finish(channelKey(stream))
  }

  setStreaming(id: string, kind: 'legacy' | 'standalone', open: boolean): void {
    const entry = this.#alive.get(id)
    if (entry === undefined) return
    const step = open ? 1 : -1
    if (kind === 'legacy') entry.legacyStreams += step
    else entry.standaloneStreams += step
    entry.lastSeenMs = this.#options.now()
    if (
      !open &&
      kind === 'legacy' &&
      entry.legacyStreams === 0 &&
      readSessionId(id, this.#options.keys)?.origin === 'stream'
    )
      this.end(id)
  }

  statistics(nowMs: number): SessionStatistics {
    const { ttlMs } = this.#options
    let active = 0
    let zombies = 0
    for (const entry of this.#alive.values()) {
      const idleMs = streamsOf(entry) > 0 ? 0 : nowMs - entry.lastSeenMs
      // the sweep comes later
      if (idleMs > ttlMs) continue
      active++
      if (idleMs > ttlMs / 3) zombies++
    }
    return { active_sessions: active, zombie_sessions: zombies, total_created: this.#totalCreated }
  }

  close(): void {
    clearInterval(this.#sweeper)
  }

  #makePlace(): void {
    if (this.#alive.size < this.#options.maxSessions) return
    for (const [id, entry] of this.#alive) {
      if (streamsOf(entry) > 0) continue
      this.#alive.delete(id)
      return
    }
  }

  #sweep(): void {
    const nowMs = this.#options.now()
    for (const [id, entry] of this.#alive) {
      if (streamsOf(entry) === 0 && nowMs - entry.lastSeenMs > this.#options.ttlMs) this.#alive.delete(id)
    }
    for (const [id, untilMs] of this.#ended) if (untilMs < nowMs) this.#ended.delete(id)
    this.#replays.sweep()
    this.tasks.sweep()
  }
}
