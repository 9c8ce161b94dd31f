/** A reply whose content is a short text: its bytes, and the result, which is made when it is first read. */
import type { ToolResult } from '../../model/tool.ts'
import type { Reply } from './outcome.ts'

/** Longer texts are rare, and reading them costs more than the objects around them. */
export const MAX_TEXT_BYTES = 8 * 1024

const UTF8 = new TextDecoder('utf-8')

/** A copy of it (`{ ...reply, result }`) is a plain reply: what changes the result loses the bytes. */
export class TextReply implements Reply {
  readonly kind = 'reply'
  readonly backendStatus: number
  readonly #bytes: Uint8Array
  #result: ToolResult | undefined

  /** @param bytes UTF-8, valid or not; at most MAX_TEXT_BYTES */
  constructor(bytes: Uint8Array, backendStatus: number) {
    this.#bytes = bytes
    this.backendStatus = backendStatus
  }

  get bytes(): Uint8Array {
    return this.#bytes
  }

  get result(): ToolResult {
    this.#result ??= { content: [{ type: 'text', text: UTF8.decode(this.#bytes) }], isError: false }
    return this.#result
  }
}
