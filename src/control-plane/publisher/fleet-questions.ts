/** Distributes questions about recorded calls to the streams of gateways, and collects the replies. */
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { CallsQuestion, FleetQuestion, FleetReply, SummaryQuestion } from '../../link/fleet-question.ts'
import type { Store } from '../store/store.ts'

/** A gateway that has not replied by then is left out. */
const WAIT_MS = 1_500
/** Asked within this time, the same question is not asked again. */
const SHARED_MS = 400
const MAX_WAITING = 64
/** Piece chars of a message between instances. */
const PIECE_CHARS = 7_000
const MAX_PIECES = 64
const MAX_REPLY_BYTES = 1024 * 1024

type Asked = Omit<CallsQuestion, 'id'> | Omit<SummaryQuestion, 'id'>
export type Replies = ReadonlyMap<string, FleetReply>

interface Waiting {
  readonly replies: Map<string, FleetReply>
  readonly missing: Set<string>
  readonly done: () => void
  /** For replies that reached another instance: gateway → pieces. */
  readonly pieces: Map<string, string[]>
}

/** Between instances: a question, or a piece of a reply. */
type Message =
  | { readonly ask: FleetQuestion }
  | {
      readonly of: string
      readonly from: string
      readonly at: number
      readonly count: number
      readonly piece: string
    }

export class FleetQuestions {
  readonly #store: Store
  readonly #listeners = new Map<string, Set<(question: FleetQuestion) => void>>()
  readonly #waiting = new Map<string, Waiting>()
  readonly #shared = new Map<string, Promise<Replies>>()

  constructor(store: Store) {
    this.#store = store
    store.onSignal(signal => {
      // what cannot be read, or is too large, is dropped: its gateway then counts as one that has not replied
      if (signal.kind === 'message') void this.#receive(signal.text).catch(() => {})
    })
  }

  /** A gateway whose stream this instance serves. Returns a function that ends it. */
  subscribe(gatewayId: string, listener: (question: FleetQuestion) => void): () => void {
    const listeners = this.#listeners.get(gatewayId) ?? new Set()
    this.#listeners.set(gatewayId, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(gatewayId)
    }
  }

  /**
   * The replies that arrive in time, by gateway.
   * @param gatewayIds those that are live
   * @returns undefined when too many questions wait
   */
  async ask(asked: Asked, gatewayIds: readonly string[]): Promise<Replies | undefined> {
    const key = JSON.stringify([asked, gatewayIds])
    const shared = this.#shared.get(key)
    if (shared !== undefined) return shared
    if (this.#waiting.size >= MAX_WAITING) return undefined
    const replies = this.#ask({ ...asked, id: randomUUID() }, gatewayIds)
    this.#shared.set(key, replies)
    setTimeout(() => this.#shared.delete(key), SHARED_MS).unref()
    return replies
  }

  async #ask(question: FleetQuestion, gatewayIds: readonly string[]): Promise<Replies> {
    const replies = new Map<string, FleetReply>()
    if (gatewayIds.length === 0) return replies
    const gathered = new Promise<void>(resolve => {
      const timer = setTimeout(resolve, WAIT_MS)
      const finish = (): void => {
        clearTimeout(timer)
        resolve()
      }
      this.#waiting.set(question.id, {
        replies,
        missing: new Set(gatewayIds),
        done: finish,
        pieces: new Map(),
      })
    })
    this.#deliver(question)
    const isElsewhere = gatewayIds.some(id => !this.#listeners.has(id))
    // without the database, the gateways of this instance still reply
    if (isElsewhere) await this.#notify([{ ask: question }]).catch(() => {})
    await gathered
    this.#waiting.delete(question.id)
    return replies
  }

  /** A reply that came to this instance; a late one is dropped. */
  async take(gatewayId: string, reply: FleetReply): Promise<void> {
    const waiting = this.#waiting.get(reply.question_id)
    if (waiting !== undefined) return this.#keep(waiting, gatewayId, reply)
    // the embedded database has one instance
    if (this.#store.adapter !== 'postgres') return
    const text = (await promisify(deflateRaw)(JSON.stringify(reply))).toString('base64')
    const count = Math.ceil(text.length / PIECE_CHARS)
    if (count > MAX_PIECES) return
    const pieces = Array.from({ length: count }, (_, at) => ({
      of: reply.question_id,
      from: gatewayId,
      at,
      count,
      piece: text.slice(at * PIECE_CHARS, (at + 1) * PIECE_CHARS),
    }))
    await this.#notify(pieces)
  }

  #keep({ replies, missing, done }: Waiting, gatewayId: string, reply: FleetReply): void {
    if (!missing.delete(gatewayId)) return
    replies.set(gatewayId, reply)
    if (missing.size === 0) done()
  }

  #deliver(question: FleetQuestion): void {
    for (const listeners of this.#listeners.values()) for (const listener of listeners) listener(question)
  }

  #notify(messages: readonly Message[]): Promise<void> {
    return this.#store.notify(messages.map(message => JSON.stringify(message)))
  }

  async #receive(text: string): Promise<void> {
    const message = JSON.parse(text) as Message
    if ('ask' in message) {
      if (!this.#waiting.has(message.ask.id)) this.#deliver(message.ask)
      return
    }
    const waiting = this.#waiting.get(message.of)
    if (waiting === undefined) return
    const { from, at, count, piece } = message
    const pieces = waiting.pieces.get(from) ?? []
    waiting.pieces.set(from, pieces)
    pieces[at] = piece
    if (pieces.filter(each => each !== undefined).length < count) return
    const whole = await promisify(inflateRaw)(Buffer.from(pieces.join(''), 'base64'), {
      maxOutputLength: MAX_REPLY_BYTES,
    })
    this.#keep(waiting, from, JSON.parse(whole.toString('utf8')) as FleetReply)
  }
}
