/** Sessions of a process in memory, with their signals and replays, and the task store beside them. `session-id.ts` signs their ids. */
import { Chain, type Linked } from '../../../base/async/chain.ts'
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

/** For an id that this store has signed, or whose signature it has checked. */
class Entry implements Linked {
  previous: Linked | undefined
  next: Linked | undefined
  readonly id: string
  readonly facts: SessionFacts
  owner: string
  /** Set when `initialize` came after the id was minted. */
  settled: SettledFacts | undefined
  lastSeenMs: number
  legacyStreams = 0
  standaloneStreams = 0
  /** As it was found last; undefined when it has changed since. */
  found: Session | undefined

  constructor(id: string, facts: SessionFacts, nowMs: number) {
    this.id = id
    this.facts = facts
    this.owner = facts.owner
    this.lastSeenMs = nowMs
  }
}

function streamsOf(entry: Entry): number {
  return entry.legacyStreams + entry.standaloneStreams
}

const SWEEP_EVERY_MS = 30_000

export class MemorySessionStore implements SessionStore {
  readonly tasks: MemoryTaskStore
  readonly #options: MemorySessionOptions
  readonly #alive = new Map<string, Entry>()
  /** The same in order of last use: the first is idle longest. */
  readonly #byUse = new Chain<Entry>()
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
    // as the id says it
    const createdAtMs = 1000 * Math.floor(facts.createdAtMs / 1000)
    this.#add(new Entry(id, { ...facts, createdAtMs }, this.#options.now()))
    this.#totalCreated++
    return { id, ...facts, legacyStream: false }
  }

  find(id: string, nowMs: number): Session | undefined {
    const entry = this.#alive.get(id) ?? this.#restore(id, nowMs)
    if (entry === undefined) return undefined
    if (this.#isExpired(entry.facts, entry, nowMs)) {
      this.#remove(entry)
      return undefined
    }
    entry.lastSeenMs = nowMs
    this.#byUse.remove(entry)
    this.#byUse.append(entry)
    entry.found ??= sessionOf(entry)
    return entry.found
  }

  /** One of before a restart, or evicted since. */
  #restore(id: string, nowMs: number): Entry | undefined {
    const facts = readSessionId(id, this.#options.keys)
    if (facts === undefined || this.#ended.has(id) || this.#isExpired(facts, undefined, nowMs))
      return undefined
    const entry = new Entry(id, facts, nowMs)
    this.#add(entry)
    return entry
  }

  #add(entry: Entry): void {
    this.#makePlace()
    this.#alive.set(entry.id, entry)
    this.#byUse.append(entry)
  }

  #remove(entry: Entry): void {
    this.#alive.delete(entry.id)
    this.#byUse.remove(entry)
  }

  findExpired(ids: readonly string[], nowMs: number): readonly string[] {
    return ids.filter(id => {
      const entry = this.#alive.get(id)
      const facts = entry?.facts ?? readSessionId(id, this.#options.keys)
      return facts === undefined || this.#ended.has(id) || this.#isExpired(facts, entry, nowMs)
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
    if (entry === undefined) return
    entry.settled = facts
    entry.found = undefined
  }

  claim(session: Session, owner: string): boolean {
    const entry = this.#alive.get(session.id)
    if (entry === undefined) return false
    if (entry.owner === '') {
      entry.owner = owner
      entry.found = undefined
    }
    return entry.owner === owner
  }

  end(id: string): boolean {
    const entry = this.#alive.get(id)
    if (entry !== undefined) this.#remove(entry)
    else if (readSessionId(id, this.#options.keys) === undefined || this.#ended.has(id)) return false
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
    entry.found = undefined
    if (!open && kind === 'legacy' && entry.legacyStreams === 0 && entry.facts.origin === 'stream')
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
    for (let entry = this.#byUse.first; entry !== undefined; entry = entry.next as Entry | undefined)
      if (streamsOf(entry) === 0) return this.#remove(entry)
  }

  #sweep(): void {
    const nowMs = this.#options.now()
    for (const entry of this.#alive.values())
      if (streamsOf(entry) === 0 && nowMs - entry.lastSeenMs > this.#options.ttlMs) this.#remove(entry)
    for (const [id, untilMs] of this.#ended) if (untilMs < nowMs) this.#ended.delete(id)
    this.#replays.sweep()
    this.tasks.sweep()
  }
}

function sessionOf({ id, facts, settled, owner, legacyStreams }: Entry): Session {
  return { id, ...facts, ...settled, owner, legacyStream: legacyStreams > 0 }
}
