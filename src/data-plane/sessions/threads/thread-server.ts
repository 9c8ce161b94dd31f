/** Serves the session store of a thread to other threads, and requests them to evict a session that another of them has changed. */
import type { PortLine } from '../../../base/threads/port-line.ts'
import type {
  ReplayEvent,
  Session,
  SessionFacts,
  SessionSignal,
  SessionStore,
  SettledFacts,
  StreamRef,
} from '../session-store.ts'
import { serveTasks } from './joined-tasks.ts'

type StreamKind = 'legacy' | 'standalone'

export class SessionThreadServer {
  readonly #store: SessionStore
  readonly #lines = new Set<PortLine>()

  constructor(store: SessionStore) {
    this.#store = store
  }

  /** Serves the thread at the other end (`JoinedSessionStore`) until that ends; its streams end with it. */
  serve(line: PortLine): void {
    const store = this.#store
    const listening = new Map<string, () => void>()
    const streaming = new Map<string, { id: string; kind: StreamKind; count: number }>()
    this.#lines.add(line)
    serveTasks(line, store.tasks)
    const evictElsewhere = (id: string): Promise<void> => this.#evict(id, line)

    line.serve({
      'session.create': (facts: SessionFacts) => store.create(facts),
      'session.find': (id: string, nowMs: number) => store.find(id, nowMs),
      'session.findExpired': (ids: readonly string[], nowMs: number) => store.findExpired(ids, nowMs),
      'session.touch': (ids: readonly string[], nowMs: number) => {
        for (const id of ids) void store.find(id, nowMs)
      },
      'session.update': async (id: string, facts: SettledFacts) => {
        await store.update(id, facts)
        await evictElsewhere(id)
      },
      'session.claim': async (session: Session, owner: string) => {
        const claimed = await store.claim(session, owner)
        if (claimed) await evictElsewhere(session.id)
        return claimed
      },
      'session.end': async (id: string) => {
        const ended = await store.end(id)
        await evictElsewhere(id)
        return ended
      },
      'session.signal': (id: string, signal: SessionSignal) => store.signal(id, signal),
      'session.listen': (id: string) => {
        if (!listening.has(id))
          listening.set(
            id,
            store.listen(id, signal => line.notify('session.signal', id, signal)),
          )
      },
      'session.unlisten': (id: string) => {
        listening.get(id)?.()
        listening.delete(id)
      },
      'session.append': (stream: StreamRef, event: ReplayEvent) => store.append(stream, event),
      'session.replay': (stream: StreamRef, afterN: number) => store.replay(stream, afterN),
      'session.finish': (stream: StreamRef) => store.finish(stream),
      'session.streaming': async (id: string, kind: StreamKind, open: boolean) => {
        count(streaming, id, kind, open)
        await store.setStreaming(id, kind, open)
        await evictElsewhere(id)
      },
      'session.statistics': (nowMs: number) => store.statistics(nowMs),
    })
    line.onClose(() => {
      this.#lines.delete(line)
      for (const stop of listening.values()) stop()
      for (const { id, kind, count: left } of streaming.values()) {
        for (let i = 0; i < left; i++) void store.setStreaming(id, kind, false)
        void evictElsewhere(id)
      }
    })
  }

  /** When it settles, no other thread has the old session cached. */
  async #evict(id: string, except: PortLine): Promise<void> {
    const others = [...this.#lines].filter(line => line !== except)
    // a thread that does not respond is ignored: its cached entry expires within a second
    if (others.length > 0) await Promise.allSettled(others.map(line => line.ask('session.evict', id)))
  }
}

function count(
  streaming: Map<string, { id: string; kind: StreamKind; count: number }>,
  id: string,
  kind: StreamKind,
  open: boolean,
): void {
  const key = `${kind} ${id}`
  const left = (streaming.get(key)?.count ?? 0) + (open ? 1 : -1)
  if (left > 0) streaming.set(key, { id, kind, count: left })
  else streaming.delete(key)
}
