/** Recognizes work that a backend has accepted (202) for a call that runs as a task, and polls its `Location`. */

import type { Cancellation } from '../../../base/cancellation.ts'
import { resolveWithin } from '../../../model/upstream-url.ts'
import type { CircuitOpen } from '../../../net/egress/circuit.ts'
import type { EgressFailure, EgressResponse } from '../../../net/egress/egress.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { BackendRequest } from '../../snapshot/snapshot.ts'
import { callTimeoutMs } from './begin-task.ts'
import { pause } from './pause.ts'

type Received = EgressResponse | EgressFailure | CircuitOpen

const POLL_MS = { default: 1_000, min: 250, max: 30_000 }
/** For requests in a row without a response. */
const MAX_FAILURES = 5
/** For redirects in a row. */
const MAX_REDIRECTS = 5
const LATE: EgressFailure = {
  kind: 'failure',
  reason: 'timeout',
  message: 'the backend did not finish the accepted request in time',
  sent: true,
}

/** Never to another origin: the request holds the credential of the backend. */
function placeIn(response: EgressResponse, base: string): string | undefined {
  const location = response.headers.get('location')
  return location === '' ? undefined : resolveWithin(location, base)
}

export function isAcceptedWork({ transport: { task } }: Exchange, received: Received): boolean {
  return task?.begun === true && received.kind === 'response' && received.status === 202
}

/** @returns the last response: that of the work where its place is known, else the first */
export async function awaitAcceptedWork(
  first: EgressResponse,
  request: BackendRequest,
  exchange: Exchange,
  cancellation: Cancellation,
  send: (request: BackendRequest) => PromiseLike<Received>,
): Promise<Received> {
  let url = placeIn(first, request.url)
  if (url === undefined) return first
  const untilMs = performance.now() + callTimeoutMs(exchange)
  const headers = withoutBody(request.headers)
  let waitMs = retryAfterMs(first)
  let failures = 0
  let redirects = 0
  for (;;) {
    await pause(waitMs, cancellation)
    if (performance.now() >= untilMs) return LATE
    const received: Received = await send({ method: 'GET', url, headers })
    waitMs = POLL_MS.default
    if (received.kind !== 'response') {
      const isOver = received.kind === 'failure' && received.reason === 'cancelled'
      if (isOver || ++failures >= MAX_FAILURES) return received
      continue
    }
    failures = 0
    const next: string | undefined = placeIn(received, url)
    if (received.status === 202) {
      url = next ?? url
      redirects = 0
      waitMs = retryAfterMs(received)
    } else if (received.status >= 300 && received.status < 400 && next !== undefined) {
      if (++redirects > MAX_REDIRECTS) return received
      url = next
      waitMs = 0
    } else return received
  }
}

/** RFC 9110 §10.2.3: seconds or a date. */
function retryAfterMs(response: EgressResponse): number {
  const text = response.headers.get('retry-after')
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.min(POLL_MS.max, Math.max(POLL_MS.min, ms)) : POLL_MS.default
}

function withoutBody(headers: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2)
    if (!/^content-/i.test(headers[at]!)) kept.push(headers[at]!, headers[at + 1]!)
  return kept
}
