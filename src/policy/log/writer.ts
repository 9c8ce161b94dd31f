/** Writes the decision log as NDJSON files in a folder, in the background, with rotation by size; it may drop lines. */

import { mkdirSync } from 'node:fs'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { unlessMissing } from '../../base/fs/missing.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import type { Decision, PolicyInput } from '../engine.ts'
import { type DecisionEntry, entryOf, type KeepArguments } from './entry.ts'

export interface DecisionLogOptions {
  /** Made when it is not there. */
  readonly dir: string
  /** Number of the thread that writes: each has separate files. Default 0. */
  readonly thread?: number
  /** Share of the allowed decisions that are written, 0 to 1; denials always are. Default 1. */
  readonly sampleAllowed?: number
  /** Default `masked`. */
  readonly keepArguments?: KeepArguments
  /** A file that is larger is set aside. Default 64 MiB. */
  readonly maxFileBytes?: number
  /** How many files set aside are kept. Default 8. */
  readonly maxFiles?: number
  /** Lines that wait for the disk; more are dropped. Default 16 MiB. */
  readonly maxPendingBytes?: number
  readonly log?: { warn(fields: object, message: string): void }
  /** 0 ≤ x < 1; for tests. */
  readonly random?: () => number
}

export interface DecisionLog {
  /** Takes a decision down; costs no waiting. */
  record(id: string, at: number, input: PolicyInput, decision: Decision): void
  /** The same for an entry that is made already; no sampling. */
  append(entry: DecisionEntry): void
  /** Lines that were dropped because the disk did not keep up or failed. */
  readonly dropped: number
  /** Resolves when everything recorded so far is written. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** @throws Error when the folder cannot be made. */
export function createDecisionLog(options: DecisionLogOptions): DecisionLog {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 })
  return new FileDecisionLog(options)
}

class FileDecisionLog implements DecisionLog {
  readonly #options: DecisionLogOptions
  readonly #stem: string
  readonly #file: string
  readonly #random: () => number
  #pending: string[] = []
  #pendingBytes = 0
  #writing: Promise<void> | undefined
  #handle: FileHandle | undefined
  #fileBytes = 0
  #dropped = 0
  #closed = false

  constructor(options: DecisionLogOptions) {
    this.#options = options
    this.#stem =
      options.thread === undefined || options.thread === 0 ? 'decisions' : `decisions-${options.thread}`
    this.#file = join(options.dir, `${this.#stem}.ndjson`)
    this.#random = options.random ?? Math.random
  }

  get dropped(): number {
    return this.#dropped
  }

  record(id: string, at: number, input: PolicyInput, decision: Decision): void {
    const { sampleAllowed = 1, keepArguments = 'masked' } = this.#options
    if (decision.allow && sampleAllowed < 1 && this.#random() >= sampleAllowed) return
    this.append(entryOf(id, at, input, decision, keepArguments))
  }

  append(entry: DecisionEntry): void {
    if (this.#closed) return
    const { maxPendingBytes = 16 * 1024 * 1024 } = this.#options
    const line = `${writeJson(entry)}\n`
    // one UTF-16 unit takes at most three bytes; an estimate is enough for a bound
    if (this.#pendingBytes + line.length > maxPendingBytes) {
      this.#drop(1, 'the disk is too slow to write all decisions of this process')
      return
    }
    this.#pending.push(line)
    this.#pendingBytes += line.length
    this.#writing ??= this.#write()
  }

  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.flush()
    await this.#handle?.close()
    this.#handle = undefined
  }

  async #write(): Promise<void> {
    // what is recorded within the same turn goes out in one write
    await new Promise(resolve => setImmediate(resolve))
    while (this.#pending.length > 0) {
      const lines = this.#pending
      this.#pending = []
      this.#pendingBytes = 0
      try {
        await this.#append(Buffer.from(lines.join('')))
      } catch (error) {
        this.#drop(lines.length, (error as Error).message)
        await this.#handle?.close().catch(() => undefined)
        this.#handle = undefined
      }
    }
    this.#writing = undefined
  }

  async #append(lines: Buffer): Promise<void> {
    if (this.#handle === undefined) {
      this.#handle = await open(this.#file, 'a', 0o600)
      this.#fileBytes = (await stat(this.#file)).size
    }
    await this.#handle.appendFile(lines)
    this.#fileBytes += lines.length
    if (this.#fileBytes >= (this.#options.maxFileBytes ?? 64 * 1024 * 1024)) await this.#rotate()
  }

  /** decisions.ndjson → .1 → .2 …; the oldest is removed. */
  async #rotate(): Promise<void> {
    await this.#handle?.close()
    this.#handle = undefined
    const { maxFiles = 8 } = this.#options
    const aside = (n: number) => join(this.#options.dir, `${this.#stem}.${n}.ndjson`)
    await rm(maxFiles === 0 ? this.#file : aside(maxFiles), { force: true })
    for (let n = maxFiles - 1; n >= 0; n--) {
      await unlessMissing(rename(n === 0 ? this.#file : aside(n), aside(n + 1)))
    }
  }

  #drop(lines: number, reason: string): void {
    if (this.#dropped === 0) {
      this.#options.log?.warn({ reason }, 'the gateway is dropping entries of the decision log')
    }
    this.#dropped += lines
  }
}
