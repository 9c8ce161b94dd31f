/** Generates the events of the stream to a gateway. */

import type { FleetQuestion } from '../../link/fleet-question.ts'
import type { HelloEvent } from '../../link/transport.ts'
import { eventsOf, type StreamEvent } from '../../link/update-events.ts'
import { EVERY_TENANT, type Store } from '../store/store.ts'
import type { FleetQuestions } from './fleet-questions.ts'
import type { Publisher } from './publisher.ts'

/** Shows both sides that the connection stands. */
const HEARTBEAT_MS = 5_000
/** That wait for a gateway. */
const MAX_QUESTIONS = 16
/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2_147_483_647

export const HEARTBEAT: StreamEvent = { name: 'alive', data: null }

export interface FeedOptions {
  readonly store: Store
  readonly publisher: Publisher
  readonly questions: FleetQuestions
  readonly gatewayId: string
  /** The version that the gateway serves; null: none. */
  readonly from: string | null
  /** Number of the last report that was taken. */
  readonly sequence: number
  /** Mark of a re-synchronization requested while the gateway was not connected: the whole share is sent. */
  readonly resync: string | null
  /** Milliseconds until the credential expires: the stream ends, and the gateway reconnects with a new one. */
  readonly endsAfterMs: number
  /** Fires when the gateway disconnects or the control plane stops. */
  readonly signal: AbortSignal
}

/** `hello`, then the events of each update (see `eventsOf`), questions, and a heartbeat when there is neither. A gateway applies an update at its `commit`. */
export async function* feed(options: FeedOptions): AsyncGenerator<StreamEvent, void, void> {
  const { publisher, store, gatewayId, signal, sequence } = options
  let version = options.from
  let resync = options.resync
  let isExpired = false
  let wake: () => void = () => {}
  const onChange = () => wake()
  const questions: FleetQuestion[] = []
  const isAsked = () => questions.length > 0
  const isDue = () => publisher.isPublished && (resync !== null || publisher.share.version !== version)
  const unsubscribe = publisher.subscribe(onChange)
  const unsubscribeQuestions = options.questions.subscribe(gatewayId, question => {
    // a gateway that does not read its stream
    if (questions.length >= MAX_QUESTIONS) questions.shift()
    questions.push(question)
    wake()
  })
  const unlisten = store.onSignal(sign => {
    if (sign.kind !== 'resync' || sign.gatewayId !== gatewayId) return
    void store
      .read(EVERY_TENANT, tx => tx.gateways.find(gatewayId))
      .then(
        gateway => {
          resync = gateway?.resyncRequestedAt?.toISOString() ?? null
          wake()
        },
        // the next connection of this gateway reads the mark again
        () => {},
      )
  })
  signal.addEventListener('abort', onChange)
  const expiry = setTimeout(
    () => {
      isExpired = true
      wake()
    },
    Math.min(options.endsAfterMs, MAX_TIMER_MS),
  ).unref()
  try {
    const hello: HelloEvent = { gateway_id: gatewayId, heartbeat_ms: HEARTBEAT_MS, sequence }
    yield { name: 'hello', data: hello }
    while (!signal.aborted && !isExpired) {
      if (isDue()) {
        const mark = resync
        const update = publisher.updateFrom(mark === null ? version : null)!
        yield* eventsOf({ update, resync: mark })
        version = update.version
        if (resync === mark) resync = null
        continue
      }
      const question = questions.shift()
      if (question !== undefined) {
        yield { name: 'question', data: question }
        continue
      }
      const isSilent = await new Promise<boolean>(resolve => {
        const timer = setTimeout(() => resolve(true), HEARTBEAT_MS).unref()
        wake = () => {
          clearTimeout(timer)
          resolve(false)
        }
        // a change since `isDue` above would otherwise be missed
        if (signal.aborted || isExpired || isAsked() || isDue()) wake()
      })
      if (isSilent) yield HEARTBEAT
    }
  } finally {
    clearTimeout(expiry)
    unsubscribe()
    unsubscribeQuestions()
    unlisten()
    signal.removeEventListener('abort', onChange)
  }
}
