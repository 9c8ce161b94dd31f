/** Registers the gauges of sessions. The session store counts them. */
import type { SessionStatistics, SessionStore } from '../../data-plane/sessions/session-store.ts'
import type { AppContext } from './app-context.ts'

/** Aggregated by maximum: every thread reads the same sessions, those of the process or of all that share a Redis. */
export function showSessions({ metrics, clock }: AppContext, sessions: SessionStore): void {
  let asked: Promise<SessionStatistics> | undefined
  // both gauges of a scrape share one query
  const statistics = (): Promise<SessionStatistics> => {
    asked ??= Promise.resolve(sessions.statistics(clock.now())).finally(() => {
      asked = undefined
    })
    return asked
  }
  metrics.gauge(
    'platform_sessions',
    'MCP sessions that are alive; with REDIS_URL those of all instances.',
    async () => (await statistics()).active_sessions,
    'max',
  )
  metrics.gauge(
    'platform_sessions_zombie',
    'MCP sessions without a stream that have been idle for more than a third of their time to live.',
    async () => (await statistics()).zombie_sessions,
    'max',
  )
}
