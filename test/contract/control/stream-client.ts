/** A gateway's side of the snapshot stream, as small as it can be: reads events, applies updates, reports. */
import {
  applyUpdate,
  type ControlShare,
  EMPTY_SHARE,
  type ShareUpdate,
} from '../../../src/link/control-share.ts'
import type { Plane } from './plane.ts'

export class StreamClient {
  readonly #plane: Plane
  readonly #name: string
  readonly #aborter = new AbortController()
  #sequence = 0
  share: ControlShare = EMPTY_SHARE
  gatewayId = ''
  /** Every update received, in order. */
  readonly updates: (ShareUpdate & { resync: string | null })[] = []
  readonly done: Promise<void>

  constructor(plane: Plane, name: string, from?: ControlShare) {
    this.#plane = plane
    this.#name = name
    if (from !== undefined) this.share = from
    this.done = this.#run()
  }

  async #run(): Promise<void> {
    const query = new URLSearchParams({ name: this.#name, url: 'http://127.0.0.1:1', workers: '2' })
    const headers: Record<string, string> = { authorization: 'Bearer gateway' }
    if (this.share.version !== '') headers['last-event-id'] = this.share.version
    const address = `https://api.example/v1/gateways/stream?${query}`
    const request = new Request(address, { headers, signal: this.#aborter.signal })
    const response = await this.#plane.control.fetch(request)
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    let pending: { -readonly [K in keyof ShareUpdate]?: ShareUpdate[K] } & { resync?: string | null } = {}
    for await (const { name, data } of events(response.body!)) {
      if (name === 'hello') this.gatewayId = data.gateway_id
      else if (name === 'begin') pending = { ...data, tenants: [], removed: [] }
      else if (name === 'tenants') pending.tenants = [...pending.tenants!, ...data]
      else if (name === 'plans') pending.plans = data
      else if (name === 'removed') pending.removed = data
      else if (name === 'commit') {
        const update = pending as ShareUpdate & { resync: string | null }
        this.share = applyUpdate(this.share, update)
        this.updates.push(update)
      }
    }
    // a Request that is collected no longer follows the signal it was given: this keeps it until here
    request.signal.throwIfAborted()
  }

  /** Acknowledges what it has, or refuses it. */
  report(fields: object = {}) {
    return this.#plane.call('gateway', 'POST', `/v1/gateways/${this.gatewayId}/reports`, {
      snapshot_version: this.share.version === '' ? null : this.share.version,
      resync: this.updates.at(-1)?.resync ?? null,
      sequence: ++this.#sequence,
      ...fields,
    })
  }

  async close(): Promise<void> {
    this.#aborter.abort()
    await this.done.catch(() => {})
  }
}

async function* events(body: ReadableStream<Uint8Array>) {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n')
      text = text.slice(end + 2)
      const field = (name: string) => lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data !== undefined) yield { name: field('event')!, data: JSON.parse(data) }
    }
  }
}
