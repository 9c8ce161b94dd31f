/** Shows how many sessions there are. It counts none: the store knows, whichever it is. */
import type { SessionStatistics, SessionStore } from '../../data-plane/sessions/session-store.ts'
import type { AppContext } from './app-context.ts'

/** Every thread sees the same sessions, those of the process or of all that share a Redis: none is counted twice. */
export function showSessions({ metrics, clock }: AppContext, sessions: SessionStore): void {
  let asked: Promise<SessionStatistics> | undefined
  // both gauges of a scrape are read from one answer
  const statistics = (): Promise<SessionStatistics> => {
    asked ??= Promise.resolve(sessions.statistics(clock.now())).finally(() => {
      asked = undefined
    })
    return asked
  }
  metrics.read('platform_sessions', async () => (await statistics()).active_sessions)
  metrics.read('platform_sessions_zombie', async () => (await statistics()).zombie_sessions)
}
