/** The task store in Redis, for instances that share tasks. */
import type { TaskCreation, TaskRecord, TaskStore } from '../task-store.ts'
import type { RedisConnection } from './session-connection.ts'

/** All keys of an owner are in one slot. */
const indexOf = (owner: string): string => `toolgate:{t:${owner}}:tasks`
const keyOf = (owner: string, id: string): string => `toolgate:{t:${owner}}:task:${id}`

/** Stores a task if its owner has fewer than the limit; the index holds when each of them ends. */
const CREATE = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1] + ARGV[2], ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
redis.call('HSET', KEYS[2], 'task', ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1`

/** Replaces a task that is there; its time goes on. */
const PUT = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'task', ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'outcome', ARGV[2]) end
return 1`

export class RedisTaskStore implements TaskStore {
  readonly #redis: RedisConnection
  readonly #now: () => number

  constructor(redis: RedisConnection, now: () => number) {
    this.#redis = redis
    this.#now = now
  }

  async create(task: TaskRecord, maxOfOwner: number): Promise<TaskCreation> {
    const { owner, id, ttlMs } = task
    const keys = [indexOf(owner), keyOf(owner, id)] as const
    const made = await this.#attempt(() =>
      this.#redis.eval(CREATE, 2, ...keys, this.#now(), ttlMs, id, maxOfOwner, JSON.stringify(task)),
    )
    if (made === undefined) return 'unavailable'
    return made === 1 ? 'created' : 'too_many'
  }

  async get(owner: string, id: string): Promise<TaskRecord | 'unavailable' | undefined> {
    const fields = await this.#attempt(() => this.#redis.hmget(keyOf(owner, id), 'task', 'outcome'))
    if (fields === undefined) return 'unavailable'
    const [text, outcome] = fields
    if (typeof text !== 'string') return undefined
    const task = JSON.parse(text) as TaskRecord
    return typeof outcome === 'string' ? { ...task, outcome } : task
  }

  async put({ outcome = '', ...task }: TaskRecord): Promise<boolean> {
    const key = keyOf(task.owner, task.id)
    const stored = await this.#attempt(() => this.#redis.eval(PUT, 1, key, JSON.stringify(task), outcome))
    return stored === 1
  }

  async list(owner: string): Promise<readonly TaskRecord[] | 'unavailable'> {
    const texts = await this.#attempt(async () => {
      const ids = await this.#redis.zrangebyscore(indexOf(owner), this.#now(), '+inf')
      return Promise.all(ids.map(id => this.#redis.hget(keyOf(owner, id), 'task')))
    })
    if (texts === undefined) return 'unavailable'
    return texts
      .filter(text => text !== null)
      .map(text => JSON.parse(text) as TaskRecord)
      .sort((a, b) => a.createdAtMs - b.createdAtMs)
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
