/** Whether each call whose response promises a metering event has one event id in the topic, as an independent consumer reads it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeWithLibrary } from '../../oracles/event-proto.ts'
import type { TopicMessage } from '../../services/kafka/kafka-server.ts'
import type { RunRecord } from '../record.ts'

const MAX_WAIT_MS = 90_000
const MAX_EXAMPLES = 5

export interface MeteringFound {
  readonly findings: readonly string[]
  readonly messages: number
  readonly events: number
  readonly required: number
}

/** Waits until no event is missing. @param read gives the whole topic */
export async function checkMetering(
  read: () => Promise<readonly TopicMessage[]>,
  { metered }: Pick<RunRecord, 'metered'>,
  maxWaitMs = MAX_WAIT_MS,
): Promise<MeteringFound> {
  for (const until = Date.now() + maxWaitMs; ; await sleep(2_000)) {
    const messages = await read()
    const eventsOf = new Map<string, Set<string>>()
    const ids = new Set<string>()
    for (const { value } of messages) {
      const { event_id, request_id } = decodeWithLibrary(value) as { event_id: string; request_id: string }
      ids.add(event_id)
      const events = eventsOf.get(request_id) ?? new Set()
      eventsOf.set(request_id, events.add(event_id))
    }
    const missing = [...metered].filter(id => !eventsOf.has(id))
    if (missing.length > 0 && Date.now() < until) continue
    const repeated = [...eventsOf].filter(([, events]) => events.size > 1)
    const findings: string[] = []
    if (missing.length > 0)
      findings.push(`${missing.length} calls with a response have no event: ${listed(missing)}.`)
    if (repeated.length > 0)
      findings.push(
        `${repeated.length} calls have several event ids: ${listed(repeated.map(([id, events]) => `${id} ${events.size}`))}.`,
      )
    return { findings, messages: messages.length, events: ids.size, required: metered.size }
  }
}

function listed(items: readonly string[]): string {
  return items.slice(0, MAX_EXAMPLES).join(', ') + (items.length > MAX_EXAMPLES ? ', …' : '')
}
