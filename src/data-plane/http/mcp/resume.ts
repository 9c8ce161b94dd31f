/** A resumed stream: what was missed, then what is still to come (MCP 2025-03-26, "Resumability and Redelivery"). */
import { andThen } from '../../../shared/call/and-then.ts'
import type { ReplayEvent, Session } from '../../sessions/session-store.ts'
import type { Call } from '../call.ts'
import type { McpParts } from './parts.ts'
import { eventId } from './post-response.ts'
import { notFound } from './replies.ts'
import { KEEP_ALIVE, messageEvent } from './sse.ts'

const KEEP_ALIVE_MS = 15_000

/**
 * @param session of the request, which must belong to the caller: only its own streams are found
 * @param release gives the limiter's place back
 */
export function resume(
  parts: McpParts,
  call: Call,
  session: Session,
  position: { readonly streamId: string; readonly n: number },
  release: () => void,
): void {
  const { sessions } = parts.gateway
  const { streamId } = position
  const missed = { sessionId: session.id, streamId }
  // listening comes before reading, so that nothing falls between the two
  const early: { event: ReplayEvent; last: boolean }[] = []
  let deliver = (event: ReplayEvent, last: boolean): void => void early.push({ event, last })
  const unlisten = sessions.listen(missed, signal => {
    if (signal.kind === 'event') deliver(signal.event, signal.last)
  })
  const stop = (): void => {
    unlisten()
    release()
  }
  const begin = (replay: Awaited<ReturnType<typeof sessions.replay>>): void => {
    if (replay === undefined) {
      stop()
      return notFound(call)
    }
    const stream = call.eventStream()
    const keepAlive = setInterval(() => stream.write(KEEP_ALIVE), KEEP_ALIVE_MS).unref()
    let sent = position.n
    const end = (): void => {
      clearInterval(keepAlive)
      stop()
    }
    deliver = (event, last) => {
      if (event.n > sent && event.data !== '')
        stream.write(messageEvent(event.data, eventId(streamId, event.n)))
      sent = Math.max(sent, event.n)
      if (!last) return
      end()
      stream.end()
    }
    call.response.onAbort(end)
    for (const event of replay.events) deliver(event, false)
    if (replay.complete) {
      end()
      return stream.end()
    }
    for (const { event, last } of early) deliver(event, last)
  }
  const replay = sessions.replay(missed, position.n)
  void andThen(replay, begin)
}
