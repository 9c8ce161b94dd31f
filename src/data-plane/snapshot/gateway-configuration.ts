/** Holds the configuration of a gateway, checks and applies changes of it, and delivers the resulting documents. */

import { SerialQueue } from '../../base/async/serial-queue.ts'
import { runInSlices } from '../../base/async/slices.ts'
import { applyChange, type ContentChange, type SnapshotChange, wholeChange } from '../../link/change.ts'
import type { ControlShare, ShareUpdate } from '../../link/control-share.ts'
import { type SnapshotContent, type SnapshotDocument, sealInSlices } from '../../link/document.ts'
import { versionSteps } from '../../link/share-version.ts'
import type { Log } from '../../telemetry/log.ts'

/** Serves a document on every thread; `change` leads to it from the last one served. @returns why a thread cannot serve it */
export type Deliver = (
  document: SnapshotDocument,
  change: SnapshotChange,
) => string | undefined | Promise<string | undefined>

/** What became of an update: only `served` changes the configuration. */
export type UpdateOutcome =
  | { readonly kind: 'served' }
  /** Valid, but this gateway cannot serve it. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Malformed, or its content is not that of its version. */
  | { readonly kind: 'invalid'; readonly reason: string }
  /** Builds on another version than the one served. */
  | { readonly kind: 'stale' }

type Part = keyof SnapshotContent

export interface ConfigurationOptions {
  readonly content: SnapshotContent
  /** Parts that have to arrive before anything is served: a gateway without the keys would refuse good ones. */
  readonly awaited: readonly Part[]
  readonly deliver: Deliver
  /** Called with each share that was taken up. */
  readonly onShare?: (share: ControlShare) => void
  readonly log: Log
}

export class Configuration {
  #content: SnapshotContent
  readonly #awaited: Set<Part>
  readonly #deliver: Deliver
  readonly #onShare: (share: ControlShare) => void
  readonly #log: Log
  /** False until a document was served: the threads hold nothing that a change could build on. */
  #isServing = false
  /** The last version that was refused, and why. */
  #refused: string | undefined
  readonly #changes = new SerialQueue()

  constructor({ content, awaited, deliver, onShare = () => {}, log }: ConfigurationOptions) {
    this.#onShare = onShare
    this.#content = content
    this.#awaited = new Set(awaited)
    this.#deliver = deliver
    this.#log = log
  }

  /** The share that is served, or will be once every awaited part has arrived. */
  get share(): ControlShare {
    return this.#content.control
  }

  /** Serves a change; changes are applied one after the other. Never rejects. @returns why it is not served */
  change(change: ContentChange): Promise<string | undefined> {
    return this.#changes.run(() => this.#apply(change, applyChange(this.#content, change))).catch(messageOf)
  }

  /** Verifies an update of the control plane and serves it. Never rejects. */
  update(update: ShareUpdate): Promise<UpdateOutcome> {
    return this.#changes
      .run(() => this.#update(update))
      .catch(error => ({
        kind: 'refused',
        reason: messageOf(error),
      }))
  }

  async #update(update: ShareUpdate): Promise<UpdateOutcome> {
    // not loaded by gateways without a control plane
    const { checkingUpdate } = await import('../../link/check-update.ts')
    const fault = await runInSlices(checkingUpdate(update))
    if (fault !== undefined) return { kind: 'invalid', reason: fault }
    if (update.base !== null && update.base !== this.share.version) return { kind: 'stale' }
    const change = { control: update }
    const content = applyChange(this.#content, change)
    if ((await runInSlices(versionSteps(content.control))) !== update.version)
      return {
        kind: 'invalid',
        reason: `the checksum of the updated configuration differs from the version in the update, ${update.version}`,
      }
    const reason = await this.#apply(change, content)
    return reason === undefined ? { kind: 'served' } : { kind: 'refused', reason }
  }

  async #apply(change: ContentChange, content: SnapshotContent): Promise<string | undefined> {
    const reason = await this.#takeUp(change, content)
    if (reason === undefined && change.control !== undefined) this.#onShare(content.control)
    return reason
  }

  async #takeUp(change: ContentChange, content: SnapshotContent): Promise<string | undefined> {
    for (const part of Object.keys(change) as Part[]) this.#awaited.delete(part)
    if (this.#awaited.size > 0) {
      this.#content = content
      return undefined
    }
    const reason = await this.#serve(content, change)
    // the parts that arrived before are not at fault: they are served without the change
    if (reason !== undefined && !this.#isServing) await this.#serve(this.#content, {})
    return reason
  }

  async #serve(content: SnapshotContent, change: ContentChange): Promise<string | undefined> {
    const document = await sealInSlices(content)
    const { version } = document
    const reason = await this.#deliver(
      document,
      this.#isServing ? { ...change, version } : wholeChange(document),
    )
    if (reason !== undefined) {
      // a refused version is offered again and again
      if (this.#refused !== `${version} ${reason}`)
        this.#log.error(
          { version, reason },
          'the gateway does not serve the new configuration; it continues with the previous configuration, if any',
        )
      this.#refused = `${version} ${reason}`
      return reason
    }
    this.#refused = undefined
    this.#content = content
    this.#isServing = true
    this.#log.info({ version }, 'serving configuration')
    return undefined
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
