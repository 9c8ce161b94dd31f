/** Readiness of the control plane, its routes `/ready` and `/health`, and the app that responds until the database is open. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import { type Store, StoreUnavailable } from '../store/store.ts'
import { corsOf } from './http/cors.ts'
import { commonHeaders } from './http/headers.ts'
import { problemOf, unavailable } from './http/problem.ts'
import type { ControlPlaneOptions } from './options.ts'

/** Probes within this time share one query. */
const CHECK_EVERY_MS = 1_000
/** A probe waits this long for the query; then it gets the last result. */
const PROBE_WAIT_MS = 500
/** A query without a response for this time means that the database is unavailable. */
const SILENT_AFTER_MS = 2_000
const RETRY_SECS = 1

interface DatabaseState {
  readonly status: 'available' | 'unavailable'
  /** Code of the error (SQLSTATE or errno) without its message, which could name hosts and users. */
  readonly reason?: string
  readonly since: string
}

export class Readiness {
  #store: Store | undefined
  #isPublished = (): boolean => false
  #areKeysReady = (): boolean => true
  #isDraining = false
  #clockFault: string | undefined
  #database: DatabaseState = unavailableFor('starting')
  #check: Promise<void> | undefined
  #checkedAtMs = Number.NEGATIVE_INFINITY

  /** The database is open, the publisher reads it, and requests are served as soon as their tokens can be verified. */
  handleOpen(store: Store, isPublished: () => boolean, areKeysReady: () => boolean): void {
    this.#store = store
    this.#isPublished = isPublished
    this.#areKeysReady = areKeysReady
    this.#checkedAtMs = Number.NEGATIVE_INFINITY
  }

  /** The database could not be opened. */
  handleFailure(error: unknown): void {
    this.#set(unavailableFor(codeOf(error)))
  }

  /** @param fault why the clock of this process is not that of the database; undefined: it is */
  handleClock(fault: string | undefined): void {
    this.#clockFault = fault
  }

  /** Readiness off; requests are still served. */
  drain(): void {
    this.#isDraining = true
  }

  /** What the control plane needs before it can serve every request; empty when it is ready. */
  async waitingFor(): Promise<readonly string[]> {
    const { status } = await this.database()
    return [
      ...(status === 'available' ? [] : ['database']),
      ...(this.#isPublished() ? [] : ['first_publication']),
      ...(this.#areKeysReady() ? [] : ['signing_keys']),
      ...(this.#isDraining ? ['draining'] : []),
    ]
  }

  /** As of the last query; when that began more than a second ago, a new one begins and is awaited for a short time. */
  async database(): Promise<DatabaseState> {
    const store = this.#store
    if (store === undefined) return this.#database
    const nowMs = performance.now()
    if (this.#check === undefined && nowMs - this.#checkedAtMs >= CHECK_EVERY_MS) {
      this.#checkedAtMs = nowMs
      this.#check = store
        .ping()
        .then(
          () => this.#set({ status: 'available', since: new Date().toISOString() }),
          error => this.handleFailure(error),
        )
        .finally(() => {
          this.#check = undefined
        })
    }
    if (this.#check !== undefined)
      await Promise.race([this.#check, sleep(PROBE_WAIT_MS, undefined, { ref: false })])
    if (this.#check !== undefined && performance.now() - this.#checkedAtMs > SILENT_AFTER_MS)
      this.#set(unavailableFor('no_response'))
    return this.#database
  }

  #set(next: DatabaseState): void {
    const { status, reason } = this.#database
    if (status !== next.status || reason !== next.reason) this.#database = next
  }

  mount(app: Hono): void {
    app.get('/health', async context => {
      const waiting = await this.waitingFor()
      const clock = this.#clockFault
      return context.json({
        status: this.#status(waiting, clock === undefined ? 'ok' : 'degraded', 'degraded'),
        database: this.#database,
        ...(clock !== undefined && { clock }),
      })
    })
    app.get('/ready', async context => {
      const waiting = await this.waitingFor()
      const status = this.#status(waiting, 'ready', 'not_ready')
      if (waiting.length === 0) return context.json({ status })
      context.header('retry-after', String(RETRY_SECS))
      return context.json({ status, waiting_for: waiting }, 503)
    })
  }

  #status(waiting: readonly string[], ready: string, notReady: string): string {
    if (this.#isDraining) return 'draining'
    return waiting.length === 0 ? ready : notReady
  }
}

/** Responds until the database has been opened: health and readiness, and 503 for everything else. */
export function startingApp(
  readiness: Readiness,
  cors: ControlPlaneOptions['cors'],
): (request: Request) => Promise<Response> {
  const app = new Hono()
  app.use(commonHeaders)
  if (cors !== undefined) app.use(corsOf(cors))
  readiness.mount(app)
  app.all('*', context => {
    const problem = unavailable('The database is unavailable. Repeat the request later.', RETRY_SECS)
    for (const [name, value] of problem.headers) context.header(name, value)
    return context.json(problem.body(), 503)
  })
  app.onError((error, context) => context.json(problemOf(error).body(), 500))
  return async request => app.fetch(request)
}

function unavailableFor(reason: string): DatabaseState {
  return { status: 'unavailable', reason, since: new Date().toISOString() }
}

function codeOf(error: unknown): string {
  const cause = error instanceof StoreUnavailable ? error.cause : error
  return String((cause as { code?: unknown } | null)?.code ?? 'no_response')
}
