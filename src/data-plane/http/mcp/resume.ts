/** Resumes a stream (MCP 2025-03-26, "Resumability and Redelivery"): sends stored events after a position, then those that follow. */

import { KEEP_ALIVE, messageEvent } from '../../../mcp/sse.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { ReplayEvent, Session } from '../../sessions/session-store.ts'
import { openedBy } from '../access-check.ts'
import type { Call } from '../call.ts'
import type { McpParts } from './parts.ts'
import { eventId } from './post-response.ts'
import { replyNotFound } from './replies.ts'
import type { StreamSlot } from './stream-limiter.ts'

const KEEP_ALIVE_MS = 15_000

/**
 * @param exchange in which the caller was authenticated
 * @param session must belong to the caller: only its own streams are found
 */
export async function resume(
  parts: McpParts,
  exchange: Exchange,
  call: Call,
  session: Session,
  position: { readonly streamId: string; readonly n: number },
  slot: StreamSlot,
): Promise<void> {
  const { sessions } = parts.gateway
  const { streamId } = position
  const ref = { sessionId: session.id, streamId }
  // listen before reading, so that no event is lost in between
  const early: { event: ReplayEvent; last: boolean }[] = []
  let deliver = (event: ReplayEvent, last: boolean): void => void early.push({ event, last })
  const unlisten = sessions.listen(ref, signal => {
    if (signal.kind === 'event') deliver(signal.event, signal.last)
  })
  const stop = (): void => {
    unlisten()
    slot.release()
  }
  const replay = await sessions.replay(ref, position.n)
  if (replay === undefined) {
    stop()
    return replyNotFound(call)
  }
  const stream = call.eventStream()
  const keepAlive = setInterval(() => stream.write(KEEP_ALIVE), KEEP_ALIVE_MS).unref()
  let sent = position.n
  const end = (): void => {
    clearInterval(keepAlive)
    unwatch()
    stop()
  }
  let isOver = false
  const cut = (): void => {
    if (isOver) return
    isOver = true
    end()
    stream.end()
  }
  const unwatch = parts.gateway.access.open(openedBy(exchange), exchange.snapshot, cut)
  deliver = (event, last) => {
    if (!isOver && event.n > sent && event.data !== '')
      stream.write(messageEvent(event.data, eventId(streamId, event.n)))
    sent = Math.max(sent, event.n)
    if (last) cut()
  }
  call.response.onAbort(end)
  slot.whenEvicted(cut)
  for (const event of replay.events) deliver(event, false)
  if (replay.complete) return cut()
  for (const { event, last } of early) deliver(event, last)
}
