/** An outgoing call whose response is handed out when its head arrives, with the body as a stream. It does not decode the body. */
import { BodyStream } from './body-stream.ts'
import { Call } from './call.ts'
import type { EgressFailure, EgressHeaders, EgressStreamResponse } from './egress.ts'
import { failure, StreamFailure } from './failure.ts'
import { toHeaders } from './headers.ts'

export class StreamingCall extends Call<EgressStreamResponse> {
  #body: BodyStream | undefined

  onHeaders(status: number, wire: EgressHeaders | Buffer[], resume: () => void): boolean {
    if (this.over || status < 200) return true
    this.responded = true
    this.#body = new BodyStream(resume, () => this.#abandoned())
    this.resolve({
      kind: 'response',
      status,
      headers: toHeaders(wire),
      body: this.#body,
    })
    return true
  }

  onData(chunk: Uint8Array): boolean {
    return this.over || this.#body === undefined ? true : this.#body.push(chunk)
  }

  onComplete(): void {
    this.finish()
    this.#body?.end()
  }

  #abandoned(): void {
    this.fail(failure('cancelled', `the caller cancelled the response from ${this.origin}`, true))
  }

  protected override onFailed(why: EgressFailure): void {
    this.#body?.fail(new StreamFailure(why))
  }
}
