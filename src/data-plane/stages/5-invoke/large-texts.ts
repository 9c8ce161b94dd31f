/** Has a worker thread rewrite the texts of large results, and defines the messages for that. `result-worker.ts` rewrites the texts. */
import { nextTurn } from '../../../base/async/slices.ts'
import { FairJobWorker } from '../../../base/threads/fair-job-worker.ts'
import type { WorkerJob } from '../../../base/threads/job-worker.ts'
import type { ActiveLevel } from '../shared/token-optimization.ts'

export type TextRewrite = { readonly level: ActiveLevel } | { readonly paths: readonly (readonly string[])[] }

/** A piece of the text; the last one has `how`. */
export interface TextPiece {
  readonly piece: string
  readonly how?: TextRewrite
}

/**
 * `next` asks for another piece; `rewriting`: all pieces have arrived; `unchanged`: the text stays as it is, and is not copied back;
 * `failed`: it cannot be rewritten in this way.
 */
export type RewriteMessage = 'next' | 'rewriting' | 'unchanged' | 'failed' | { readonly text: string }

type Rewriting = Exclude<RewriteMessage, 'next' | 'rewriting'>

/** A message copies its piece in one turn of the event loop. */
const PIECE_CHARS = 1024 * 1024

/** Start timeout of the thread until it has received the first piece, which a busy machine delays. */
const START_TIMEOUT_MS = 10_000
/** For one text from then on. */
const TIMEOUT_MS = 3_000
const LIMITS = { maxPendingPerOwner: 8, maxPending: 32, pauseMs: 5_000 }
const MAX_HEAP_MB = 1_024

/** One for each serving thread; its worker starts when it is first needed. */
export class LargeTexts {
  readonly #worker = new FairJobWorker(
    new URL('./result-worker.ts', import.meta.url),
    { maxOldGenerationSizeMb: MAX_HEAP_MB, stackSizeMb: 4 },
    LIMITS,
  )

  /** @returns undefined when the text cannot be rewritten, takes too long or too many are pending. Never rejects */
  async rewrite(owner: string, text: string, how: TextRewrite): Promise<string | undefined> {
    const rewritten = (await this.#worker.run(owner, () => rewriteJob(text, how))) ?? 'failed'
    if (rewritten === 'failed') return undefined
    if (rewritten === 'unchanged') return text
    // reading a long text from its message takes milliseconds, so what follows has its own turn
    await nextTurn()
    return rewritten.text
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}

export function rewriteJob(text: string, how: TextRewrite): WorkerJob<RewriteMessage, Rewriting> {
  let from = 0
  let isStarted = false
  const nextPiece = (): TextPiece => {
    const piece = text.slice(from, from + PIECE_CHARS)
    from += PIECE_CHARS
    return from < text.length ? { piece } : { piece, how }
  }
  return {
    message: nextPiece(),
    timeoutMs: START_TIMEOUT_MS,
    receive(message, running) {
      if (message !== 'next' && message !== 'rewriting') return message
      if (!isStarted) running.restartTimeout(TIMEOUT_MS)
      isStarted = true
      if (message === 'next') setImmediate(() => running.post(nextPiece()))
      return undefined
    },
    fail: () => 'failed',
  }
}
