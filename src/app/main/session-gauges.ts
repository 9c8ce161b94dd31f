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
  metrics.read('platform_sessions', async () => (await statistics()).active_sessions)
  metrics.read('platform_sessions_zombie', async () => (await statistics()).zombie_sessions)
}
