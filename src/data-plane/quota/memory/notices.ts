/** Carries an administrator's order to clear the caches between the threads of a process. It clears nothing. */

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
    // Nobody waits for it: it must not keep the thread alive.
    this.#channel.unref()
  }

  listen(listener: Listener): void {
    this.#listeners.push(listener)
  }

  /** Tells the other threads. */
  pass(): void {
    this.#channel.postMessage('cleared')
  }

  /** Another instance has said so: tells every thread, this one too. */
  heard(): void {
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
