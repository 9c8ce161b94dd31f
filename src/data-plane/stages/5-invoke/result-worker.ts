/** The worker thread that rewrites the texts of large results. It keeps nothing between jobs. */
import { parentPort } from 'node:worker_threads'
import { optimizeText } from '../shared/token-optimization.ts'
import type { RewriteMessage, TextJob } from './large-texts.ts'
import { redactText } from './redact-result.ts'

const port = parentPort
if (port === null) throw new Error('this file runs as a worker thread')

port.on('message', ({ text, how }: TextJob) => {
  const rewritten = 'level' in how ? optimizeText(text, how.level) : redactText(text, how.paths)
  port.postMessage({ text: rewritten } satisfies RewriteMessage)
})
