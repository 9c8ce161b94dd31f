/** The calls of a gateway to its control plane: stream, poll, report. It keeps no state but the credentials and decides on no retry. */

import type { ShareUpdate } from '../../link/control-share.ts'
import { type Hello, type Report, wireReport } from '../../link/report.ts'
import { Cancellation } from '../../shared/call/cancellation.ts'
import type { Egress, EgressResponse } from '../../shared/egress/egress.ts'
import type { ClientCredentials } from './credentials.ts'

const TIMEOUT_MS = 4_000
/** A poll may bring the whole share. */
const POLL_TIMEOUT_MS = 30_000
const MAX_SHARE_BYTES = 512 * 1024 * 1024
const MAX_RESPONSE_BYTES = 64 * 1024
/** Streams have no end: silence is watched instead. */
const FOREVER_MS = 2 ** 31 - 1

export interface ClientOptions {
  readonly egress: Egress
  readonly credentials: Pick<ClientCredentials, 'token' | 'forget'>
  /** Of the control plane, without `/v1`. */
  readonly url: string
}

export interface SnapshotStream {
  readonly body: AsyncIterable<Uint8Array>
  close(): void
}

export class ControlPlaneClient {
  readonly #options: ClientOptions
  readonly #base: string

  constructor(options: ClientOptions) {
    this.#options = options
    this.#base = `${options.url}/v1/gateways`
  }

  /** @param from the version at hand; '' = none. @throws Error with a reason that holds no secret */
  async stream(hello: Hello, from: string): Promise<SnapshotStream> {
    const { name, url, version, workers, authConfig } = hello
    const query = new URLSearchParams({ name, url, version, workers: String(workers) })
    if (authConfig.issuer !== undefined) query.set('issuer', authConfig.issuer)
    if (authConfig.audiences?.length) query.set('audiences', authConfig.audiences.join(','))
    const cancellation = new Cancellation()
    // the head of the answer has a time of its own
    const impatience = setTimeout(() => cancellation.cancel(), TIMEOUT_MS)
    try {
      const response = await this.#options.egress.stream({
        method: 'GET',
        url: `${this.#base}/stream?${query}`,
        headers: [
          ...(await this.#headers()),
          'accept',
          'text/event-stream',
          ...(from === '' ? [] : ['last-event-id', from]),
        ],
        timeoutMs: FOREVER_MS,
        cancellation,
      })
      if (response.kind === 'failure') throw new Error(response.message)
      if (response.status !== 200) {
        response.body.destroy()
        throw this.#refused(response.status)
      }
      return { body: response.body, close: () => cancellation.cancel() }
    } finally {
      clearTimeout(impatience)
    }
  }

  /** What leads from a version to the newest; null when it is the newest. @throws as `stream` */
  async poll(from: string): Promise<ShareUpdate | null> {
    const query = from === '' ? '' : `?${new URLSearchParams({ from })}`
    const response = await this.#call(
      'GET',
      `/snapshot${query}`,
      undefined,
      from === '' ? POLL_TIMEOUT_MS : TIMEOUT_MS,
    )
    if (response.status !== 200) throw this.#refused(response.status)
    return JSON.parse(Buffer.from(response.body).toString('utf8')) as ShareUpdate | null
  }

  /** @returns false when the control plane does not know the instance. @throws as `stream` */
  async report(gatewayId: string, report: Report): Promise<boolean> {
    const body = JSON.stringify(wireReport(report))
    const response = await this.#call('POST', `/${encodeURIComponent(gatewayId)}/reports`, body, TIMEOUT_MS)
    if (response.status === 404) return false
    if (response.status !== 204) throw this.#refused(response.status)
    return true
  }

  async #call(
    method: string,
    path: string,
    body: string | undefined,
    timeoutMs: number,
  ): Promise<EgressResponse> {
    const response = await this.#options.egress.request({
      method,
      url: `${this.#base}${path}`,
      headers: [
        ...(await this.#headers()),
        'accept',
        'application/json',
        ...(body === undefined ? [] : ['content-type', 'application/json']),
      ],
      ...(body === undefined ? {} : { body }),
      timeoutMs,
      maxResponseBytes: method === 'GET' ? MAX_SHARE_BYTES : MAX_RESPONSE_BYTES,
    })
    if (response.kind === 'failure') throw new Error(response.message)
    return response
  }

  async #headers(): Promise<readonly string[]> {
    return ['authorization', `Bearer ${await this.#options.credentials.token()}`]
  }

  #refused(status: number): Error {
    const { credentials, url } = this.#options
    if (status === 401) credentials.forget()
    const fix =
      status === 401 || status === 403
        ? '; the tokens of GATEWAY_CLIENT_ID need the scope deploy, an accepted audience and no tenant'
        : ''
    return new Error(`${url} answered ${status}${fix}`)
  }
}
