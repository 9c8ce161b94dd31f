/** Answers another thread of the process from the one that holds the connection to Redis. It counts nothing. */
import type { MessagePort } from 'node:worker_threads'
import type { TableQuota } from '../memory/table-quota.ts'
import type { LeaseReserver } from './lease-reserver.ts'
import { type Question, type Reserved, requestOf, type ThreadReply, type Values } from './thread-messages.ts'

/** What only the thread with the connection can do. */
export interface Serving {
  readonly quota: TableQuota
  readonly reserver: LeaseReserver
  readonly statistics: () => Promise<Values['statistics']>
  readonly reset: (key: string) => Promise<boolean>
  readonly clear: () => Promise<void>
}

/** Serves the thread at the other end until that closes the port, or ends. */
export function serveThread(port: MessagePort, serving: Serving): void {
  port.on('message', (question: Question) => {
    if (question.kind === 'decided') return note(question.calls)
    const { id } = question
    respond(question).then(
      value => notify({ kind: 'answer', id, value }),
      (error: Error) => notify({ kind: 'answer', id, value: undefined, fault: error.message }),
    )
  })
  // A thread keeps itself alive by what it does, not by this.
  port.unref()

  function notify(message: ThreadReply): void {
    port.postMessage(message)
  }

  async function respond(question: Exclude<Question, { kind: 'decided' }>): Promise<unknown> {
    if (question.kind === 'statistics') return serving.statistics()
    if (question.kind === 'reset') return serving.reset(question.key)
    if (question.kind === 'clear') return serving.clear()
    return reserve(question)
  }

  async function reserve({ caller, lacking }: Question & { kind: 'reserve' }): Promise<Reserved> {
    const { quota, reserver } = serving
    const request = requestOf(caller, quota.unixMs())
    const reserved = reserver.reserve(request, lacking, undefined)
    const waited = reserved instanceof Promise
    const outcome = await reserved
    return { outcome, denial: reserver.denialOf(request, lacking), waited }
  }

  function note(calls: (Question & { kind: 'decided' })['calls']): void {
    const { quota, reserver } = serving
    for (const { caller, granted, refused, unitsLeft } of calls) {
      const request = requestOf(caller, quota.unixMs())
      if (granted > 0) reserver.noted(request, granted, unitsLeft)
      if (refused > 0) reserver.refused(request, refused)
    }
  }
}
