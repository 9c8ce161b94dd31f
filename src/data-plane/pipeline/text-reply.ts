/** A reply whose content is a text: its bytes, and the result, which is made when it is first read. */
import type { ToolResult } from '../../model/tool.ts'
import type { Reply } from './outcome.ts'

/** Longer texts are rare, and reading them costs more than the objects around them. */
export const MAX_TEXT_BYTES = 8 * 1024
/** Bytes of a text that is sent as it came, without being read: from here on that saves more than it costs. */
export const MIN_UNREAD_BYTES = 128 * 1024

const UTF8 = new TextDecoder('utf-8')

/** A copy of it (`{ ...reply, result }`) is a plain reply: what changes the result loses the bytes. */
export class TextReply implements Reply {
  readonly kind = 'reply'
  readonly backendStatus: number
  readonly #bytes: Uint8Array
  #result: ToolResult | undefined

  /** @param bytes at most MAX_TEXT_BYTES of UTF-8, valid or not; or at least MIN_UNREAD_BYTES for which `isPlainUtf8` holds */
  constructor(bytes: Uint8Array, backendStatus: number) {
    this.#bytes = bytes
    this.backendStatus = backendStatus
  }

  get bytes(): Uint8Array {
    return this.#bytes
  }

  /** Nothing has to read it, because the result is sent as it is. */
  get isUnread(): boolean {
    return this.#bytes.length >= MIN_UNREAD_BYTES
  }

  get result(): ToolResult {
    this.#result ??= { content: [{ type: 'text', text: UTF8.decode(this.#bytes) }], isError: false }
    return this.#result
  }
}
