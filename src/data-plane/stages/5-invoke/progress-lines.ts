/** Turns lines or chunks of a streaming backend response into progress of the call. */

import { NotificationLimit } from './notification-limit.ts'

/** How much of a piece is shown as the progress message. */
const MESSAGE_CHARACTERS = 200

/** Begins each text of a JSON text sequence (RFC 7464 §2.2); what is before it on its line was cut off. */
const RECORD_SEPARATOR = '\u001e'

type OnProgress = (progress: number, total: number | undefined, message: string | undefined) => void

/** SSE `data:` lines and lines of JSON texts become a step each; any other streamed text a step per chunk. */
export class ProgressLines {
  readonly #onProgress: OnProgress
  readonly #decoder = new TextDecoder()
  #mode: 'off' | 'chunks' | 'lines' | 'events' = 'off'
  #rest = ''
  #step = 0
  /** Further steps are counted only. */
  readonly #limit = new NotificationLimit()

  constructor(onProgress: OnProgress) {
    this.#onProgress = onProgress
  }

  begin(contentType: string): void {
    const type = contentType.split(';')[0]!.trim().toLowerCase()
    if (type === 'text/event-stream') this.#mode = 'events'
    else if (
      type === 'application/x-ndjson' ||
      type === 'application/jsonl' ||
      type === 'application/json-seq'
    )
      this.#mode = 'lines'
    else if (type.startsWith('text/')) this.#mode = 'chunks'
  }

  chunk(bytes: Uint8Array): void {
    if (this.#mode === 'off') return
    const text = this.#decoder.decode(bytes, { stream: true })
    if (this.#mode === 'chunks') {
      this.#notify(text)
      return
    }
    const lines = (this.#rest + text).split('\n')
    // a line longer than its message shows is cut here, so that a backend cannot make us hold one without end
    this.#rest = lines.pop()!.slice(0, 4 * MESSAGE_CHARACTERS)
    for (const line of lines) {
      if (this.#mode === 'lines') this.#notify(line.slice(line.lastIndexOf(RECORD_SEPARATOR) + 1))
      else if (line.startsWith('data:')) this.#notify(line.slice(5))
    }
  }

  #notify(text: string): void {
    const shown = text.trim().slice(0, MESSAGE_CHARACTERS)
    if (shown === '') return
    this.#step++
    if (!this.#limit.admit()) return
    const { total, message } = parseStep(shown)
    this.#onProgress(this.#step, total, message ?? shown)
  }
}

/** Reads total and message of a line such as `{"total": 5, "message": "…"}`; the gateway counts the steps, so that progress only increases. */
function parseStep(line: string): { total?: number; message?: string } {
  if (!line.startsWith('{')) return {}
  let value: Record<string, unknown>
  try {
    value = JSON.parse(line)
  } catch {
    return {}
  }
  return {
    ...(typeof value.total === 'number' && Number.isFinite(value.total) ? { total: value.total } : undefined),
    ...(typeof value.message === 'string' ? { message: value.message } : undefined),
  }
}
