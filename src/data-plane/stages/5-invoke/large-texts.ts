/** Rewrites the texts of large results in a worker thread, because parsing them would block this one. It rewrites nothing itself. */
import { FairJobWorker } from '../../../shared/threads/fair-job-worker.ts'
import type { ActiveLevel } from '../shared/token-optimization.ts'

export type TextRewrite = { readonly level: ActiveLevel } | { readonly paths: readonly (readonly string[])[] }

export interface TextJob {
  readonly text: string
  readonly how: TextRewrite
}

/** undefined: the text cannot be rewritten in this way. */
export interface RewriteMessage {
  readonly text: string | undefined
}

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
    const job = () => ({
      message: { text, how } satisfies TextJob,
      timeoutMs: TIMEOUT_MS,
      receive: (message: RewriteMessage) => message,
      fail: (): RewriteMessage => ({ text: undefined }),
    })
    return (await this.#worker.run(owner, job))?.text
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}
