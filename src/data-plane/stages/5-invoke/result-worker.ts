/** The worker thread that rewrites the texts of large results. `large-texts.ts` sends it the texts. */
import { parentPort } from 'node:worker_threads'
import { optimizeText } from '../shared/token-optimization.ts'
import type { RewriteMessage, TextPiece, TextRewrite } from './large-texts.ts'
import { redactText } from './redact-result.ts'

const port = parentPort
if (port === null) throw new Error('this file has to be started as a worker thread')

const pieces: string[] = []

port.on('message', ({ piece, how }: TextPiece) => {
  pieces.push(piece)
  if (how === undefined) return send('next')
  send('rewriting')
  send(rewrite(pieces.splice(0).join(''), how))
})

function send(message: RewriteMessage): void {
  port!.postMessage(message)
}

function rewrite(text: string, how: TextRewrite): RewriteMessage {
  const rewritten = 'level' in how ? optimizeText(text, how.level) : redactText(text, how.paths)
  if (rewritten === undefined) return 'failed'
  return rewritten === text ? 'unchanged' : { text: rewritten }
}
