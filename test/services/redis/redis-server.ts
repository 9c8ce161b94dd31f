/** A real redis-server for one test, on a free port and in a new directory: it can be killed, restarted and paused. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { freePort } from '../../fixtures/free-ports.ts'

/** False without the binary; `REQUIRE_SERVICES=1` makes that a failure where it is used. */
export function hasRedis(): boolean {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Whether to skip, and what titles then say: the command that installs the server. */
export const withoutRedis = !hasRedis() && process.env.REQUIRE_SERVICES !== '1'
export const REDIS_HINT = withoutRedis ? ' (skipped: apt-get install -y redis-server)' : ''

export class RedisServer {
  readonly port: number
  readonly #dir: string
  #child: ChildProcess | undefined

  private constructor(port: number, dir: string) {
    this.port = port
    this.#dir = dir
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), mkdtempSync(join(tmpdir(), 'redis-')))
    await server.start()
    return server
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  /** Empty, unless something was saved. */
  async start(): Promise<void> {
    this.#child = spawn(
      'redis-server',
      [
        '--port',
        String(this.port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--dir',
        this.#dir,
      ],
      { stdio: 'ignore' },
    )
    for (let i = 0; i < 100; i++) {
      try {
        if ((await this.command(redis => redis.ping())) === 'PONG') return
      } catch {
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
    throw new Error(`redis-server did not come up on port ${this.port}`)
  }

  async command<T>(run: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.url, {
      lazyConnect: true,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    })
    redis.on('error', () => {})
    try {
      await redis.connect()
      return await run(redis)
    } finally {
      redis.disconnect()
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child!.kill(signal)
  }

  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null) return
    const gone = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  async stop(): Promise<void> {
    await this.kill()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}
