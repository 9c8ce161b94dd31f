/** Sessions that instances share through Redis, with their signals and replays, and the task store beside them. `session-id.ts` signs the ids of sessions. */
import { randomUUID } from 'node:crypto'
import { Backoff } from '../../../base/async/backoff.ts'
import { keepSubscribed } from '../../../net/redis/subscription.ts'
import type { Log } from '../../../telemetry/log.ts'
import type { KeyRing } from '../key-ring.ts'
import { hasFormOfSessionId, mintSessionId, readSessionId } from '../session-id.ts'
import {
  type Channel,
  channelKey,
  isStreamKey,
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
import { RedisReplays } from './replays.ts'
import type { RedisConnection } from './session-connection.ts'
import { BEAT, CLAIM, capabilityBits, END, settledFacts, TOUCH } from './session-scripts.ts'
import { RedisTaskStore } from './tasks.ts'

export interface RedisSessionOptions {
  readonly redis: RedisConnection
  /** A second connection: one with subscriptions accepts no other command. */
  readonly subscriber: RedisConnection
  readonly keys: KeyRing
  /** Sliding. */
  readonly ttlMs: number
  readonly log: Log
  readonly now: () => number
}

const SIGNALS = 'toolgate:session-signals'
const INDEX = 'toolgate:{sessions}:index'
const CREATED = 'toolgate:{sessions}:created'
/** Heartbeat of an open stream; without one for three times as long, the stream counts as closed. */
const STREAM_BEAT_MS = 10_000
/** A heartbeat that was not stored is repeated after these times, and does not add to an outage of Redis. */
const LATE_BEAT = { firstMs: 500, maxMs: STREAM_BEAT_MS }
const SWEEP_MS = 60_000
/** Sessions whose state is read in one round trip. */
const CATCH_UP_BATCH = 100

const keyOf = (id: string): string => `toolgate:{s:${id}}`

/** Numbers of streams. The owner ('' while there is none) is stored again when Redis has lost it. */
interface OpenStreams {
  legacy: number
  standalone: number
  owner: string
}

export class RedisSessionStore implements SessionStore {
  readonly tasks: RedisTaskStore
  readonly #options: RedisSessionOptions
  readonly #instance = randomUUID()
  readonly #listeners = new SignalListeners()
  /** Sessions with open streams here. */
  readonly #streams = new Map<string, OpenStreams>()
  /** For these a heartbeat was not stored. */
  readonly #late = new Set<string>()
  readonly #lateBackoff = new Backoff(LATE_BEAT)
  #lateTimer: NodeJS.Timeout | undefined
  #isClosed = false
  readonly #replays: RedisReplays
  readonly #timers: NodeJS.Timeout[]
  readonly #unsubscribe: () => void

  constructor(options: RedisSessionOptions) {
    this.#options = options
    this.#replays = new RedisReplays(options.redis)
    this.tasks = new RedisTaskStore(options.redis, options.now)
    this.#timers = [
      setInterval(() => this.#beat(), STREAM_BEAT_MS).unref(),
      setInterval(() => this.#sweep(), SWEEP_MS).unref(),
    ]
    this.#unsubscribe = keepSubscribed(options.subscriber, SIGNALS, {
      onMessage: text => this.#receive(text),
      onSubscribed: () => this.#catchUp(),
      onFault: ({ message }) =>
        options.log.debug(
          { reason: message },
          'a Redis subscription failed, or a message from Redis was not readable; the gateway may miss signals to sessions',
        ),
    })
  }

  async create(facts: SessionFacts): Promise<Session> {
    const { redis, keys, ttlMs, now } = this.#options
    const id = mintSessionId(facts, keys)
    const seen = now()
    // no pipeline: in a cluster the session and the index are on different nodes
    await this.#attempt(() =>
      Promise.all([
        redis.hset(keyOf(id), { owner: facts.owner, seen }),
        redis.pexpire(keyOf(id), ttlMs),
        redis.zadd(INDEX, seen, id),
        redis.incr(CREATED),
      ]),
    )
    return { id, ...facts, legacyStream: false }
  }

  async find(id: string, nowMs: number): Promise<Session | 'unavailable' | undefined> {
    const { redis, keys, ttlMs } = this.#options
    const facts = readSessionId(id, keys) ?? (await this.#readAgain(id))
    if (facts === undefined || facts === 'unavailable') return facts
    const own = this.#streams.get(id)
    const young = nowMs - facts.createdAtMs <= ttlMs || own !== undefined ? '1' : '0'
    const isOpenHere = (own?.legacy ?? 0) > 0
    const isElsewhere = facts.origin === 'stream' && !isOpenHere
    const known = facts.owner || own?.owner || ''
    const read = () => this.#attempt(() => redis.eval(TOUCH, 1, keyOf(id), nowMs, ttlMs, young, known))
    // a message for a stream at another instance is rare, and nothing but Redis knows of it: only this one may wait twice
    let state = await read()
    if (state === undefined && isElsewhere) state = await read()
    // Redis is unavailable: the id contains enough to continue, except the location of a stream on another instance
    if (state === undefined) {
      if (young !== '1') return undefined
      return isElsewhere ? 'unavailable' : { id, ...facts, owner: known, legacyStream: isOpenHere }
    }
    if (!Array.isArray(state)) return undefined
    const [owner, version, capabilities, legacyUntil, logLevel] = state as string[]
    const legacyStream = isOpenHere || Number(legacyUntil) > nowMs
    if (facts.origin === 'stream' && !legacyStream) return undefined
    void this.#attempt(() => redis.zadd(INDEX, nowMs, id))
    const settled = version === '' ? undefined : settledFacts(version!, Number(capabilities), logLevel!)
    // only this gateway writes an id, so the owner in it is right, whatever Redis has
    return { id, ...facts, ...settled, owner: facts.owner || owner!, legacyStream }
  }

  async findExpired(ids: readonly string[], nowMs: number): Promise<readonly string[]> {
    const others = ids.filter(id => !this.#streams.has(id))
    const expired: string[] = []
    for (let from = 0; from < others.length; from += CATCH_UP_BATCH) {
      const batch = others.slice(from, from + CATCH_UP_BATCH)
      const states = await this.#attempt(() => this.#readStates(batch))
      if (states === undefined) break
      for (const [i, id] of batch.entries()) {
        // one that Redis has lost is stored again while its age is below the TTL
        if (states[i] === 'ended' || (states[i] === 'unknown' && !this.#isYoung(id, nowMs))) expired.push(id)
      }
    }
    return expired
  }

  #isYoung(id: string, nowMs: number): boolean {
    const { keys, ttlMs } = this.#options
    const facts = readSessionId(id, keys)
    return facts !== undefined && nowMs - facts.createdAtMs <= ttlMs
  }

  /** Another instance may have signed it with a key that it has added, or this one has not read the keys since its start. */
  async #readAgain(id: string): Promise<SessionFacts | 'unavailable' | undefined> {
    const { keys } = this.#options
    if (keys.refresh === undefined || !hasFormOfSessionId(id)) return undefined
    return (await keys.refresh()) ? readSessionId(id, keys) : 'unavailable'
  }

  async update(id: string, facts: SettledFacts): Promise<void> {
    const fields = {
      version: facts.protocolVersion,
      elicitation: String(capabilityBits(facts)),
      log: facts.logLevel ?? '',
    }
    const { redis, ttlMs } = this.#options
    // also the TTL: Redis may have lost the session, and a key without one would stay
    await this.#attempt(() => Promise.all([redis.hset(keyOf(id), fields), redis.pexpire(keyOf(id), ttlMs)]))
  }

  async claim(session: Session, owner: string): Promise<boolean> {
    const { redis, keys, ttlMs } = this.#options
    const { id } = session
    const known = readSessionId(id, keys)?.owner || session.owner || this.#streams.get(id)?.owner
    if (known) return known === owner
    const bound = await this.#attempt(() => redis.eval(CLAIM, 1, keyOf(id), owner, ttlMs))
    // while Redis is unavailable, the owner of a session without one in its id cannot be checked
    return bound === undefined || bound === owner
  }

  async end(id: string): Promise<boolean | 'unavailable'> {
    const { redis, keys, ttlMs } = this.#options
    if (readSessionId(id, keys) === undefined) return false
    const end = () => this.#attempt(() => redis.eval(END, 1, keyOf(id), ttlMs))
    const first = await end()
    // without a response the command may have ended the session all the same: the repetition then finds that it has ended
    const alive = first ?? (await end())
    if (alive === undefined) return 'unavailable'
    void this.#attempt(() => redis.zrem(INDEX, id))
    await this.signal(id, { kind: 'end' })
    this.#listeners.removeAll(id)
    return alive === 1 || first === undefined
  }

  async signal(channel: Channel, signal: SessionSignal): Promise<number> {
    const id = channelKey(channel)
    const here = this.#listeners.deliver(id, signal)
    const text = JSON.stringify({ from: this.#instance, id, signal })
    const elsewhere = await this.#attempt(() => this.#options.redis.publish(SIGNALS, text))
    return here + (elsewhere ?? 0)
  }

  listen(channel: Channel, listener: (signal: SessionSignal) => void): () => void {
    return this.#listeners.listen(channelKey(channel), listener)
  }

  append(stream: StreamRef, event: ReplayEvent): void {
    void this.#attempt(() => this.#replays.append(channelKey(stream), event))
  }

  async replay(stream: StreamRef, afterN: number): Promise<Replay | undefined> {
    // a client resumes rarely and loses events that it does not get now: only this call may wait twice
    const read = (): Promise<Replay | 'unknown' | undefined> =>
      this.#attempt(async () => (await this.#replays.read(channelKey(stream), afterN)) ?? 'unknown')
    const replay = (await read()) ?? (await read())
    return replay === 'unknown' ? undefined : replay
  }

  finish(stream: StreamRef): void {
    void this.#attempt(() => this.#replays.finish(channelKey(stream)))
  }

  async setStreaming(id: string, kind: 'legacy' | 'standalone', open: boolean): Promise<void> {
    const facts = readSessionId(id, this.#options.keys)
    const counts = this.#streams.get(id) ?? { legacy: 0, standalone: 0, owner: facts?.owner ?? '' }
    counts[kind] += open ? 1 : -1
    if (counts.legacy + counts.standalone > 0) this.#streams.set(id, counts)
    else this.#streams.delete(id)
    if (kind === 'legacy' && counts.legacy === 0 && facts?.origin === 'stream') await this.end(id)
    else await this.#beatOne(id, counts)
  }

  async statistics(nowMs: number): Promise<SessionStatistics | undefined> {
    const { redis, ttlMs } = this.#options
    const counts = await this.#attempt(() =>
      Promise.all([
        redis.zcount(INDEX, nowMs - ttlMs, '+inf'),
        redis.zcount(INDEX, nowMs - ttlMs, `(${nowMs - ttlMs / 3}`),
        redis.get(CREATED),
      ]),
    )
    if (counts === undefined) return undefined
    const [active, zombies, created] = counts
    return { active_sessions: active, zombie_sessions: zombies, total_created: Number(created ?? 0) }
  }

  close(): void {
    this.#unsubscribe()
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#lateTimer)
    this.#isClosed = true
    this.#options.subscriber.disconnect()
    this.#options.redis.disconnect()
  }

  #receive(text: string): void {
    const { from, id, signal } = JSON.parse(text) as { from: string; id: string; signal: SessionSignal }
    if (from !== this.#instance) this.#listeners.deliver(id, signal)
  }

  /**
   * Delivers what was published while this instance was not subscribed, as far as Redis stores it: the end of sessions,
   * and the events of streams that are resumed here. Listeners may receive both twice.
   */
  async #catchUp(): Promise<void> {
    const sessions: string[] = []
    for (const id of this.#listeners.ids()) {
      if (isStreamKey(id)) await this.#redeliver(id)
      else sessions.push(id)
    }
    while (sessions.length > 0) {
      const batch = sessions.splice(0, CATCH_UP_BATCH)
      const states = await this.#readStates(batch)
      for (const [i, id] of batch.entries())
        if (states[i] === 'ended') this.#listeners.deliver(id, { kind: 'end' })
    }
  }

  /** No pipeline: in a cluster the sessions are on different nodes. @throws Error of a Redis that is unavailable */
  async #readStates(ids: readonly string[]): Promise<('alive' | 'ended' | 'unknown')[]> {
    const rows = await Promise.all(ids.map(id => this.#options.redis.hmget(keyOf(id), 'ended', 'seen')))
    return rows.map(([ended, seen]) => (ended ? 'ended' : seen ? 'alive' : 'unknown'))
  }

  async #redeliver(stream: string): Promise<void> {
    const { events, complete } = (await this.#replays.readKept(stream)) ?? { events: [], complete: false }
    for (const [i, event] of events.entries())
      this.#listeners.deliver(stream, { kind: 'event', event, last: complete && i === events.length - 1 })
  }

  async #beatOne(id: string, streams: OpenStreams): Promise<void> {
    const { redis, ttlMs, now } = this.#options
    const nowMs = now()
    const legacyUntil = streams.legacy > 0 ? nowMs + 3 * STREAM_BEAT_MS : 0
    const owner = await this.#attempt(() =>
      redis.eval(BEAT, 1, keyOf(id), nowMs, ttlMs, legacyUntil, streams.owner),
    )
    // other instances do not know of this stream: the next heartbeat would be late
    if (owner !== undefined) this.#lateBackoff.reset()
    else if (legacyUntil > 0 && !this.#isClosed) this.#beatSoon(id)
    if (typeof owner !== 'string') return
    streams.owner ||= owner
    await this.#attempt(() => redis.zadd(INDEX, nowMs, id))
  }

  #beatSoon(id: string): void {
    this.#late.add(id)
    this.#lateTimer ??= setTimeout(() => this.#beatLate(), this.#lateBackoff.nextMs()).unref()
  }

  #beatLate(): void {
    const late = [...this.#late]
    this.#late.clear()
    this.#lateTimer = undefined
    for (const id of late) {
      const streams = this.#streams.get(id)
      if (streams !== undefined) void this.#beatOne(id, streams)
    }
  }

  #beat(): void {
    for (const [id, streams] of this.#streams) void this.#beatOne(id, streams)
  }

  #sweep(): void {
    void this.#attempt(() =>
      this.#options.redis.zremrangebyscore(INDEX, 0, this.#options.now() - this.#options.ttlMs),
    )
  }

  /** undefined when Redis is unavailable; the connection has logged it. */
  async #attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch {
      return undefined
    }
  }
}
