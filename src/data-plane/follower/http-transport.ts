/** The transport to a control plane over HTTP: event stream, polls, reports and replies. `follower.ts` decides when to connect again. */

import { Cancellation } from '../../base/cancellation.ts'
import { clockAheadMs } from '../../base/clock-difference.ts'
import { shownAddress } from '../../base/shown-address.ts'
import type { ClientCredentials } from '../../identity/client-credentials.ts'
import type { ShareUpdate } from '../../link/control-share.ts'
import type { FleetReply } from '../../link/fleet-question.ts'
import { type Hello, type Report, wireReport } from '../../link/report.ts'
import type { ControlPlaneTransport, SnapshotStream } from '../../link/transport.ts'
import type { StreamEvent } from '../../link/update-events.ts'
import type { Egress, EgressResponse } from '../../net/egress/egress.ts'
import { serverEvents } from '../../net/egress/server-events.ts'

const TIMEOUT_MS = 2_000
/** A poll may bring the whole share. */
const POLL_TIMEOUT_MS = 30_000
const MAX_SHARE_BYTES = 512 * 1024 * 1024
const MAX_RESPONSE_BYTES = 64 * 1024
/** The follower ends a stream that has been silent for too long. */
const FOREVER_MS = 2 ** 31 - 1
/** One event holds a hundred tenants at most. */
const MAX_EVENT_CHARACTERS = 256 * 1024 * 1024

interface HttpTransportOptions {
  readonly egress: Egress
  readonly credentials: Pick<ClientCredentials, 'token' | 'discardToken'>
  /** URL of the control plane, without `/v1`. */
  readonly url: string
  /** Called with how far the clock of this process is ahead of the control plane's, in ms; negative: behind. */
  readonly onClock?: (aheadMs: number) => void
}

export class HttpTransport implements ControlPlaneTransport {
  readonly #options: HttpTransportOptions
  readonly #base: string

  constructor(options: HttpTransportOptions) {
    this.#options = options
    this.#base = `${options.url}/v1/gateways`
  }

  async connect(hello: Hello, from: string | null): Promise<SnapshotStream> {
    const { name, url, version, workers, authConfig } = hello
    const query = new URLSearchParams({ name, url, version, workers: String(workers) })
    if (authConfig.issuer !== undefined) query.set('issuer', authConfig.issuer)
    if (authConfig.audiences?.length) query.set('audiences', authConfig.audiences.join(','))
    const cancellation = new Cancellation()
    // the time-out applies to the head of the response only
    let isLate = false
    const headTimer = setTimeout(() => {
      isLate = true
      cancellation.cancel()
    }, TIMEOUT_MS)
    try {
      const response = await this.#options.egress.stream({
        method: 'GET',
        url: `${this.#base}/stream?${query}`,
        headers: [
          ...(await this.#headers()),
          'accept',
          'text/event-stream',
          ...(from === null ? [] : ['last-event-id', from]),
        ],
        timeoutMs: FOREVER_MS,
        cancellation,
      })
      if (response.kind === 'failure')
        throw new Error(
          isLate
            ? `${shownAddress(this.#options.url)} did not respond within ${TIMEOUT_MS} ms`
            : response.message,
        )
      if (response.status !== 200) {
        response.body.destroy()
        throw this.#toRefusal(response.status)
      }
      return streamOf(response.body, () => cancellation.cancel())
    } finally {
      clearTimeout(headTimer)
    }
  }

  async poll(from: string | null): Promise<ShareUpdate | null> {
    const query = from === null ? '' : `?${new URLSearchParams({ from })}`
    const timeoutMs = from === null ? POLL_TIMEOUT_MS : TIMEOUT_MS
    const response = await this.#call('GET', `/snapshot${query}`, undefined, timeoutMs)
    if (response.status !== 200) throw this.#toRefusal(response.status)
    return JSON.parse(Buffer.from(response.body).toString('utf8')) as ShareUpdate | null
  }

  async report(gatewayId: string, report: Report): Promise<boolean> {
    const body = JSON.stringify(wireReport(report))
    const response = await this.#call('POST', `/${encodeURIComponent(gatewayId)}/reports`, body, TIMEOUT_MS)
    if (response.status === 404) return false
    if (response.status !== 204) throw this.#toRefusal(response.status)
    return true
  }

  async reply(gatewayId: string, reply: FleetReply): Promise<void> {
    const path = `/${encodeURIComponent(gatewayId)}/replies`
    const { question_id, ...content } = reply
    const body = JSON.stringify({ question_id, content: JSON.stringify(content) })
    const response = await this.#call('POST', path, body, TIMEOUT_MS)
    if (response.status !== 204) throw this.#toRefusal(response.status)
  }

  async #call(
    method: string,
    path: string,
    body: string | undefined,
    timeoutMs: number,
  ): Promise<EgressResponse> {
    const headers = await this.#headers()
    const sentAtMs = Date.now()
    const response = await this.#options.egress.request({
      method,
      url: `${this.#base}${path}`,
      headers: [
        ...headers,
        'accept',
        'application/json',
        ...(body === undefined ? [] : ['content-type', 'application/json']),
      ],
      ...(body === undefined ? {} : { body }),
      timeoutMs,
      maxResponseBytes: method === 'GET' ? MAX_SHARE_BYTES : MAX_RESPONSE_BYTES,
    })
    if (response.kind === 'failure') throw new Error(response.message)
    // RFC 9110 section 6.6.1: whole seconds
    const earliestMs = Date.parse(response.headers.get('date'))
    const latestMs = earliestMs + 999
    if (!Number.isNaN(earliestMs))
      this.#options.onClock?.(clockAheadMs({ sentAtMs, receivedAtMs: Date.now(), earliestMs, latestMs }))
    return response
  }

  async #headers(): Promise<readonly string[]> {
    return ['authorization', `Bearer ${await this.#options.credentials.token()}`]
  }

  #toRefusal(status: number): Error {
    const { credentials, url } = this.#options
    if (status === 401) credentials.discardToken()
    const fix =
      status === 401 || status === 403
        ? '. Check that tokens for the client in GATEWAY_CLIENT_ID have the scope deploy, an accepted audience and no tenant. If API_CLIENT_CA is set at the control plane, also set CONTROL_PLANE_CERT at the gateway'
        : ''
    return new Error(`${shownAddress(url)} responded with ${status}${fix}`)
  }
}

function streamOf(body: AsyncIterable<Uint8Array>, close: () => void): SnapshotStream {
  let heardAtMs = performance.now()
  const onBytes = (): void => {
    heardAtMs = performance.now()
  }
  async function* events(): AsyncGenerator<StreamEvent, void, void> {
    for await (const { name, data } of serverEvents(body, {
      maxEventCharacters: MAX_EVENT_CHARACTERS,
      onBytes,
    }))
      yield { name, data: JSON.parse(data) as unknown }
  }
  return {
    events: events(),
    get heardAtMs() {
      return heardAtMs
    },
    close,
  }
}
