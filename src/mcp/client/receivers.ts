/** What requests in flight receive beside their responses: progress, log messages and requests of the server. */
import type { OnLog, OnProgress, OnServerRequest, RequestId } from '../protocol.ts'

/** For one request; emptied when it ends. */
export interface Receivers {
  onProgress: OnProgress | undefined
  onServerRequest: OnServerRequest | undefined
  onLog: OnLog | undefined
}

export class RequestReceivers {
  readonly #receivers = new Map<RequestId, Receivers>()

  /** @returns undefined when the request receives nothing */
  add(
    id: RequestId,
    onProgress: OnProgress | undefined,
    onServerRequest: OnServerRequest | undefined,
    onLog: OnLog | undefined,
  ): Receivers | undefined {
    if (onProgress === undefined && onServerRequest === undefined && onLog === undefined) return undefined
    const receivers = { onProgress, onServerRequest, onLog }
    this.#receivers.set(id, receivers)
    return receivers
  }

  /**
   * Until a full collection, an old table of a `Map` holds what was deleted from it: through a function, all objects of a call, which grow
   * old in turn. So nothing but an empty object is left to it.
   */
  end(id: RequestId, receivers: Receivers): void {
    this.#receivers.delete(id)
    receivers.onProgress = undefined
    receivers.onServerRequest = undefined
    receivers.onLog = undefined
  }

  get(id: RequestId): Receivers | undefined {
    return this.#receivers.get(id)
  }

  /** For the only request that has such a receiver; undefined where none or several have one. */
  only<Name extends keyof Receivers>(name: Name): Receivers[Name] | undefined {
    let found: Receivers[Name] | undefined
    for (const receivers of this.#receivers.values()) {
      if (receivers[name] === undefined) continue
      if (found !== undefined) return undefined
      found = receivers[name]
    }
    return found
  }
}
