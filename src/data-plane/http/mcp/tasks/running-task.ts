/** A call that runs as a task: its record in the store, its questions to the client, and its end. `task-calls.ts` runs the call. */

import type { Cancellation } from '../../../../base/cancellation.ts'
import type {
  ClientAnswers,
  ClientSide,
  Inquiry,
  InquiryOutcome,
  Question,
} from '../../../pipeline/inquiry.ts'
import { type SessionStore, taskChannel } from '../../../sessions/session-store.ts'
import type { TaskRecord, TaskStatus } from '../../../sessions/task-store.ts'
import { verdictOn } from '../elicitation-results.ts'

/** The record says for how long the instance is known to run it; it is renewed three times as often. */
export const LEASE_MS = 15_000
/** Once a store that was unavailable is back, the record of a running call is renewed within this time. */
export const RENEWED_WITHIN_MS = 2_000
const MAX_OPEN_QUESTIONS = 32
const MAX_STATUS_CHARS = 500
/** A store that did not take the last state, or a renewal, gets it again. */
const RETRY_MS = 500
const MAX_RETRIES = 20

interface OpenQuestion {
  readonly question: Question
  readonly settle: (response: unknown) => void
}

export interface TaskEnd {
  readonly status: Extract<TaskStatus, 'completed' | 'failed'>
  readonly outcome: string
}

interface RunningTaskOptions {
  readonly record: TaskRecord
  readonly sessions: SessionStore
  /** For the call. */
  readonly cancellation: Cancellation
  readonly now: () => number
  /** How it ends in place of an outcome that the store has no space for. */
  readonly unstored: TaskEnd
  /** Called with each new status. */
  readonly onStatus: (record: TaskRecord) => void
}

export class RunningTask {
  readonly #options: RunningTaskOptions
  #record: TaskRecord
  readonly #open = new Map<string, OpenQuestion>()
  readonly #stops: (() => void)[] = []
  #asked = 0
  #ended = false
  #renewal: NodeJS.Timeout | undefined
  /** Writes in their order; whether the store took the last one. */
  #written: Promise<boolean> = Promise.resolve(true)

  constructor(options: RunningTaskOptions) {
    this.#options = options
    const { record, sessions, cancellation } = options
    this.#record = record
    const expiry = setTimeout(() => cancellation.cancel(), record.ttlMs).unref()
    this.#stops.push(
      () => clearTimeout(this.#renewal),
      () => clearTimeout(expiry),
      sessions.listen(taskChannel(record.id), signal => {
        if (signal.kind === 'task_cancel') cancellation.cancel()
        else if (signal.kind === 'task_input') this.#receive(signal.responses)
      }),
    )
    this.#renewAfter(LEASE_MS / 3)
    // at once, where the call was cancelled before
    this.#stops.push(cancellation.onCancel(() => this.#end('cancelled', undefined)))
  }

  get record(): TaskRecord {
    return this.#record
  }

  report(progress: number, total: number | undefined, message: string | undefined): void {
    const counted = total === undefined ? String(progress) : `${progress} of ${total}`
    this.#put({ statusMessage: (message ?? counted).slice(0, MAX_STATUS_CHARS) })
  }

  /** Waits until the client has responded to every question. */
  async ask({ questions }: Inquiry): Promise<InquiryOutcome> {
    const asked = Object.entries(questions)
    if (this.#ended || this.#open.size + asked.length > MAX_OPEN_QUESTIONS) return 'declined'
    const pending = asked.map(([, question]) => this.#openQuestion(question))
    this.#showQuestions()
    const answers = await Promise.all(pending)
    const good = asked.every(([, question], at) => verdictOn(question, answers[at]) === 'accepted')
    return good ? Object.fromEntries(asked.map(([name], at) => [name, answers[at]])) : 'declined'
  }

  /** The call has ended by itself; without effect once it was cancelled. */
  finish({ status, outcome }: TaskEnd): void {
    this.#end(status, outcome)
  }

  #openQuestion(question: Question): Promise<unknown> {
    const name = `question-${++this.#asked}`
    return new Promise(resolve => this.#open.set(name, { question, settle: resolve }))
  }

  /** A result that fits no open question, or does not fit its question, leaves it open. */
  #receive(responses: ClientAnswers): void {
    for (const [name, response] of Object.entries(responses)) {
      const open = this.#open.get(name)
      if (open === undefined || verdictOn(open.question, response) === 'unusable') continue
      this.#open.delete(name)
      open.settle(response)
    }
    this.#showQuestions()
  }

  #showQuestions(): void {
    if (this.#ended) return
    const { inputRequests: _, ...record } = this.#record
    if (this.#open.size === 0) {
      if (record.status === 'working') return
      this.#record = record
      return this.#put({ status: 'working' })
    }
    const inputRequests = Object.fromEntries([...this.#open].map(([name, { question }]) => [name, question]))
    this.#put({ status: 'input_required', inputRequests })
  }

  #end(status: TaskStatus, outcome: string | undefined): void {
    if (this.#ended) return
    const { inputRequests: _, ...record } = this.#record
    this.#record = record
    this.#put({ status, ...(outcome === undefined ? undefined : { outcome }) })
    this.#ended = true
    for (const stop of this.#stops) stop()
    for (const { settle } of this.#open.values()) settle(undefined)
    this.#open.clear()
  }

  #renewAfter(ms: number): void {
    if (this.#ended) return
    const renew = async (): Promise<void> => {
      this.#put({})
      this.#renewAfter((await this.#written) ? LEASE_MS / 3 : RETRY_MS)
    }
    this.#renewal = setTimeout(() => void renew(), ms).unref()
  }

  #put(change: Partial<TaskRecord>): void {
    if (this.#ended) return
    const { sessions, now, onStatus, unstored } = this.#options
    const nowMs = now()
    const isRenewal = Object.keys(change).length === 0
    const isNew = change.status !== undefined && change.status !== this.#record.status
    this.#record = {
      ...this.#record,
      ...change,
      aliveUntilMs: nowMs + LEASE_MS,
      ...(isRenewal ? undefined : { updatedAtMs: nowMs }),
    }
    const record = this.#record
    this.#written = this.#written
      .then(() => storeTask(sessions, record, unstored))
      .then(({ kept, isStored }) => {
        if (isRenewal) return isStored
        if (isNew) onStatus(kept)
        void sessions.signal(taskChannel(kept.id), { kind: 'task_changed' })
        return isStored
      })
  }
}

/**
 * The last state is repeated until the store takes it; others are replaced by the next.
 * @returns the record as it was written, and whether the store took it
 */
async function storeTask(
  { tasks }: SessionStore,
  written: TaskRecord,
  unstored: TaskEnd,
): Promise<{ readonly kept: TaskRecord; readonly isStored: boolean }> {
  let kept = written
  const isLast = kept.outcome !== undefined || kept.status === 'cancelled'
  for (let tries = 0; ; tries++) {
    const done = await Promise.resolve(tasks.put(kept)).catch(() => false)
    if (done === true || !isLast || tries === MAX_RETRIES) return { kept, isStored: done === true }
    if (done === 'full') kept = { ...kept, ...unstored }
    else await new Promise(resolve => setTimeout(resolve, RETRY_MS).unref())
  }
}

/** The client of a call that may become a task: asked as before until it begins, then through the task. */
export class TaskClient implements ClientSide {
  readonly capabilities: ReadonlySet<string>
  readonly #before: ClientSide
  readonly #task: () => RunningTask | undefined

  constructor(before: ClientSide, task: () => RunningTask | undefined) {
    this.#before = before
    this.capabilities = before.capabilities
    this.#task = task
  }

  get respondsDuringCall(): boolean {
    return this.#task() !== undefined || this.#before.respondsDuringCall
  }

  ask(inquiry: Inquiry): InquiryOutcome | Promise<InquiryOutcome> {
    return this.#task()?.ask(inquiry) ?? this.#before.ask(inquiry)
  }
}
