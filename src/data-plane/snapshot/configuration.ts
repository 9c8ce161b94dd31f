/** Puts the parts of the configuration together and hands each change to the data plane. It makes none of the parts. */
import { applyChange, type ContentChange, type SnapshotChange } from '../../link/change.ts'
import { type ControlShare, wholeShare } from '../../link/control-share.ts'
import { type SnapshotContent, seal } from '../../link/document.ts'
import type { Log } from '../../shared/telemetry/log.ts'

/** Serves a change on every thread. @returns why one of them could not */
export type Deliver = (change: SnapshotChange) => string | undefined | Promise<string | undefined>

type Part = keyof SnapshotContent

export class Configuration {
  #content: SnapshotContent
  /** Parts whose first word is awaited: a gateway that knew no keys yet would refuse good ones. */
  readonly #awaited: Set<Part>
  #held: ContentChange = {}
  readonly #deliver: Deliver
  readonly #log: Log
  #work: Promise<unknown> = Promise.resolve()

  constructor(options: {
    readonly content: SnapshotContent
    readonly awaited: readonly Part[]
    readonly deliver: Deliver
    readonly log: Log
  }) {
    this.#content = options.content
    this.#held = { plans: options.content.plans, consumers: options.content.consumers }
    this.#awaited = new Set(options.awaited)
    this.#deliver = options.deliver
    this.#log = options.log
  }

  /** The share that is being served, or will be once every part has spoken. */
  get control(): ControlShare {
    return this.#content.control
  }

  /**
   * Serves a change; changes are carried out one after the other. Never rejects.
   * @returns why it is not served: the configuration is then as it was before
   */
  change(change: ContentChange): Promise<string | undefined> {
    const done = this.#work.then(() => this.#carryOut(change))
    this.#work = done
    return done
  }

  async #carryOut(change: ContentChange): Promise<string | undefined> {
    try {
      const wanted = applyChange(this.#content, change)
      for (const part of Object.keys(change) as Part[]) this.#awaited.delete(part)
      const whole = merged(this.#held, change, wanted)
      if (this.#awaited.size > 0) {
        this.#content = wanted
        this.#held = whole
        return undefined
      }
      const reason = await this.#serve(wanted, whole)
      // what was held back is not to blame: it is served without the change
      if (reason !== undefined && Object.keys(this.#held).length > 0)
        await this.#serve(this.#content, this.#held)
      return reason
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  async #serve(wanted: SnapshotContent, change: ContentChange): Promise<string | undefined> {
    const { version } = seal(wanted)
    const reason = await this.#deliver({ ...change, version })
    if (reason !== undefined) {
      this.#log.error({ version, reason }, 'the new configuration is not served')
      return reason
    }
    this.#content = wanted
    this.#held = {}
    this.#log.info({ version }, 'serving configuration')
    return undefined
  }
}

function merged(held: ContentChange, change: ContentChange, wanted: SnapshotContent): ContentChange {
  const both = { ...held, ...change }
  // two updates in a row are one from nothing
  return held.control === undefined ? both : { ...both, control: wholeShare(wanted.control) }
}
