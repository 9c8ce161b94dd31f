/** Passes an order to clear caches to listeners in the threads of a process. */
import { BroadcastChannel } from 'node:worker_threads'

type Listener = () => void

export class Notices {
  /** Name of the channel, for the other threads of the process. */
  readonly name: string
  readonly #channel: BroadcastChannel
  readonly #listeners: Listener[] = []

  constructor(name: string) {
    this.name = name
    this.#channel = new BroadcastChannel(name)
    this.#channel.onmessage = () => this.#notify()
    // it must not keep the thread alive
    this.#channel.unref()
  }

  listen(listener: Listener): void {
    this.#listeners.push(listener)
  }

  /** Notifies the other threads. */
  pass(): void {
    this.#channel.postMessage('cleared')
  }

  /** Notifies all threads, including this one, of an order from another instance. */
  notifyAll(): void {
    this.#notify()
    this.pass()
  }

  close(): void {
    this.#channel.close()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
