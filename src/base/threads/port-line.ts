/** Requests, responses and notifications between two threads over a MessagePort. It does not interpret their contents. */
import type { MessagePort } from 'node:worker_threads'

/** What the other end may request and report, by name. Arguments and results are plain data. */
export type Subjects = Readonly<Record<string, (...args: never[]) => unknown>>

type Message =
  | { readonly ask: number; readonly of: string; readonly args: readonly unknown[] }
  | { readonly notify: string; readonly args: readonly unknown[] }
  | { readonly response: number; readonly value?: unknown; readonly fault?: string }

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
  readonly timer: NodeJS.Timeout
}

/** With more pending requests than this, the other thread hangs, and further requests would only fill the memory. */
const MAX_WAITING = 50_000

export class PortLine {
  readonly #port: MessagePort
  readonly #waiting = new Map<number, Waiting>()
  readonly #onClose: (() => void)[] = []
  readonly #timeoutMs: number
  #subjects: Subjects
  #asked = 0
  #closed = false

  /** @param timeoutMs after which a request has failed */
  constructor(port: MessagePort, subjects: Subjects = {}, timeoutMs = 10_000) {
    this.#port = port
    this.#subjects = subjects
    this.#timeoutMs = timeoutMs
    port.on('message', (message: Message) => this.#receive(message))
    port.on('close', () => this.#over())
    // a thread is kept alive by what it does, not by who may ask
    port.unref()
  }

  get closed(): boolean {
    return this.#closed
  }

  /** More that the other end may ask for. */
  serve(subjects: Subjects): void {
    this.#subjects = { ...this.#subjects, ...subjects }
  }

  /** Rejects with what the other end threw, or when it does not respond in time or has ended. */
  ask<T>(of: string, ...args: readonly unknown[]): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the thread that should have responded has ended'))
    if (this.#waiting.size >= MAX_WAITING)
      return Promise.reject(new Error('the other thread has too many pending requests'))
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`the other thread did not respond to "${of}" within ${this.#timeoutMs} ms`))
      }, this.#timeoutMs)
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, timer })
      this.#port.postMessage({ ask: id, of, args } satisfies Message)
    })
  }

  notify(of: string, ...args: readonly unknown[]): void {
    if (!this.#closed) this.#port.postMessage({ notify: of, args } satisfies Message)
  }

  /** The other end has closed, or its thread has ended. */
  onClose(listener: () => void): void {
    if (this.#closed) listener()
    else this.#onClose.push(listener)
  }

  close(): void {
    this.#port.close()
  }

  #receive(message: Message): void {
    if ('response' in message) {
      const waiting = this.#waiting.get(message.response)
      if (waiting === undefined) return
      this.#waiting.delete(message.response)
      clearTimeout(waiting.timer)
      if (message.fault === undefined) waiting.resolve(message.value)
      else waiting.reject(new Error(message.fault))
    } else if ('notify' in message) void this.#subject(message.notify)?.(...(message.args as never[]))
    else void this.#respond(message.ask, message.of, message.args)
  }

  async #respond(response: number, of: string, args: readonly unknown[]): Promise<void> {
    let reply: Message
    try {
      const subject = this.#subject(of)
      if (subject === undefined) throw new Error(`this thread has no handler for "${of}"`)
      reply = { response, value: await subject(...(args as never[])) }
    } catch (error) {
      reply = { response, fault: (error as Error).message }
    }
    if (!this.#closed) this.#port.postMessage(reply)
  }

  #subject(of: string): ((...args: never[]) => unknown) | undefined {
    return Object.hasOwn(this.#subjects, of) ? this.#subjects[of] : undefined
  }

  #over(): void {
    if (this.#closed) return
    this.#closed = true
    for (const { reject, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      reject(new Error('the thread that should have responded has ended'))
    }
    this.#waiting.clear()
    for (const listener of this.#onClose.splice(0)) listener()
  }
}
