/** Serves the policy editor: compiles drafts with `opa`, compares them with recorded decisions, promotes and rolls back. It decides about no call. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SerialQueue } from '../../base/async/serial-queue.ts'
import { withDoubles } from '../../base/json/exact-number.ts'
import { readBundle } from '../bundle.ts'
import type { Decision, PolicyInput } from '../engine.ts'
import { isRemote } from '../live/bundle-source.ts'
import type { Candidate } from '../live/candidate.ts'
import type { BundleHistory } from '../live/history.ts'
import type { LivePolicy, LivePolicyOptions } from '../live/live-policy.ts'
import { putInForce } from '../live/put-in-force.ts'
import { countFlip, type FlipKinds, sortedFlips } from '../log/flips.ts'
import type { DecisionRecorder } from '../log/recorder.ts'
import type { Built } from './build.ts'
import { type CompiledDraft, compileDraft } from './draft.ts'
import { findOpa, OPA_VERSION } from './opa.ts'
import type { DraftFiles, DraftQuestion, PolicyWorkshop } from './policy-workshop.ts'
import { sourcesIn } from './sources.ts'

/** Beside the PATH; `npm run dev:policy` installs it there. */
const TOOLS_DIR = '.tools/bin'
const SCHEMA = new URL('../../../policies/schemas/input.json', import.meta.url)
/** Drafts that are compiled or wait for the compiler. */
const MAX_WAITING = 4
/** The last drafts stay compiled, so that what was checked is not compiled again. */
const KEPT_DRAFTS = 8
const MAX_KINDS = 1000
const SHOWN_KINDS = 100
/** How long a missing compiler is taken for missing before it is looked for again. */
const LOOK_AGAIN_MS = 30_000

const MISSING = `opa ${OPA_VERSION} is not on the PATH of the control plane and not in ${TOOLS_DIR}. Install its release from https://github.com/open-policy-agent/opa/releases/tag/v${OPA_VERSION}, or run \`npm run dev:policy\` in the repository.`

/** A bundle in another thread, so that an endless rule harms nothing. */
interface BundleTrial {
  /** @throws Error that says what is wrong with the bundle */
  run(bundle: Uint8Array, inputs: readonly PolicyInput[]): Promise<void>
  /** What the bundle decides, in the order of the inputs. @throws Error that says what is wrong with the bundle */
  decide(bundle: Uint8Array, inputs: readonly PolicyInput[]): Promise<readonly Decision[]>
}

interface WorkshopParts {
  readonly live: LivePolicy
  readonly candidate: Candidate
  /** With which bundles are tried and prepared. */
  readonly options: LivePolicyOptions
  readonly recorder: DecisionRecorder
  readonly trial: BundleTrial
  readonly history: BundleHistory
  /** `POLICY_BUNDLE`. */
  readonly bundleFile: string
  /** Where the compiler is looked for. */
  readonly env: Parameters<typeof findOpa>[1]
}

export class Workshop implements PolicyWorkshop {
  readonly #parts: WorkshopParts
  readonly #compiled = new Map<string, CompiledDraft>()
  readonly #queue = new SerialQueue()
  #waiting = 0
  #opa: { readonly file: string | undefined; readonly atMs: number } | undefined

  constructor(parts: WorkshopParts) {
    this.#parts = parts
  }

  get revision(): string {
    return this.#parts.live.current.revision
  }

  async status(): Promise<object> {
    const { live, candidate, history, bundleFile } = this.#parts
    const { revision, since, bundle } = live.current
    return {
      revision,
      since: new Date(since).toISOString(),
      compiler: await this.#compiler(),
      read_only: isRemote(bundleFile) ? 'POLICY_BUNDLE is a URL: publish the bundle at that URL.' : null,
      files: listFiles(sourcesIn(bundle)),
      input_schema: JSON.parse(await readFile(SCHEMA, 'utf8')) as unknown,
      candidate: (await candidate.status()) ?? null,
      history: (await history.list()).map(kept => ({
        revision: kept.revision,
        since: new Date(kept.since).toISOString(),
      })),
    }
  }

  async check({ files, input, decisions }: DraftQuestion): Promise<object | undefined> {
    const draft = files === undefined ? undefined : await this.#draft(files)
    if (files !== undefined && draft === undefined) return undefined
    const current = this.#parts.live.current.bundle
    const built = draft?.built
    // without a draft, or with one that does not compile, nothing can be compared
    const bundle = files === undefined ? current : built?.archive
    return {
      compiler: await this.#compiler(),
      errors: draft?.errors ?? [],
      tests: draft?.tests ?? [],
      revision: built?.revision ?? null,
      cacheable: built?.cacheable ?? null,
      comparison: built === undefined ? null : await this.#compare(built.archive, decisions),
      decision: input === undefined || bundle === undefined ? null : await this.#decide(bundle, input),
    }
  }

  hasDraft(revision: string): boolean {
    return this.#buildOf(revision) !== undefined
  }

  async shadow(revision: string): Promise<string | undefined> {
    const built = this.#buildOf(revision)
    if (built === undefined)
      return `The compiled draft with revision ${revision} is not in memory. Check the draft again in the policy editor.`
    return this.#parts.candidate.offer(built.archive)
  }

  obstacle(revision: string): Promise<string | undefined> {
    return this.#parts.candidate.obstacle(revision)
  }

  promote(revision: string): Promise<string | undefined> {
    return this.#parts.candidate.promote(revision)
  }

  async isKept(revision: string): Promise<boolean> {
    return (await this.#parts.history.list()).some(kept => kept.revision === revision)
  }

  async rollBack(revision: string): Promise<string | undefined> {
    const { live, options, history, bundleFile } = this.#parts
    const bundle = await history.read(revision)
    if (bundle === undefined) return `Revision ${revision} is not in the history of the policy.`
    return putInForce(bundle, { live, options, file: bundleFile })
  }

  #buildOf(revision: string): Built | undefined {
    return [...this.#compiled.values()].find(({ built }) => built?.revision === revision)?.built
  }

  /** undefined: too many wait. @throws Error without a compiler */
  async #draft(files: DraftFiles): Promise<CompiledDraft | undefined> {
    const key = createHash('sha256')
      .update(JSON.stringify(Object.entries(files).sort()))
      .digest('hex')
    const known = this.#compiled.get(key)
    if (known !== undefined) return known
    const opa = await this.#findOpa()
    if (opa === undefined) throw new Error(MISSING)
    if (this.#waiting >= MAX_WAITING) return undefined
    this.#waiting++
    try {
      return await this.#queue.run(async () => {
        const schema = await readFile(SCHEMA, 'utf8')
        const { trial } = this.#parts
        const inputs = this.#parts.recorder.recent(64).map(({ input }) => plain(input))
        const draft = await compileDraft(files, { opa, schema, trial: bundle => trial.run(bundle, inputs) })
        this.#compiled.set(key, draft)
        for (const [oldest] of this.#compiled) {
          if (this.#compiled.size <= KEPT_DRAFTS) break
          this.#compiled.delete(oldest)
        }
        return draft
      })
    } finally {
      this.#waiting--
    }
  }

  async #compare(draft: Uint8Array, count: number): Promise<object> {
    const { live, recorder, trial } = this.#parts
    const { bundle, revision } = live.current
    const entries = (await recorder.newest(count)).filter(({ unavailable }) => unavailable !== true)
    const inputs = entries.map(({ input }) => plain(input))
    const old = await trial.decide(bundle, inputs)
    const now = await trial.decide(draft, inputs)
    const kinds: FlipKinds = new Map()
    let [flipped, failed] = [0, 0]
    for (const [at, entry] of entries.entries()) {
      const [before, after] = [old[at]!, now[at]!]
      if (before.unavailable === true || after.unavailable === true) failed++
      else if (before.allow !== after.allow) {
        flipped++
        countFlip(kinds, MAX_KINDS, entry, before, after)
      }
    }
    return {
      revision,
      compared: entries.length - failed,
      flipped,
      failed,
      masked: entries.filter(({ masked }) => masked === true).length,
      flips: sortedFlips(kinds).slice(0, SHOWN_KINDS),
    }
  }

  async #decide(bundle: Uint8Array, input: unknown): Promise<object> {
    const [decision] = await this.#parts.trial.decide(bundle, [plain(input)])
    const { allow, reasons, obligations, revision, unavailable = false } = decision!
    const { rules } = readBundle(bundle)
    const explained = reasons.map(reason => ({
      code: reason.code,
      message: reason.message,
      rules: rules
        .filter(({ code }) => code === reason.code)
        .map(({ title, file, line }) => ({ title, file, line })),
    }))
    return { allow, unavailable, revision, reasons: explained, obligations: obligations ?? null }
  }

  async #compiler(): Promise<object> {
    const found = await this.#findOpa()
    return {
      available: found !== undefined,
      version: OPA_VERSION,
      hint: found === undefined ? MISSING : null,
    }
  }

  async #findOpa(): Promise<string | undefined> {
    const known = this.#opa
    if (known !== undefined && (known.file !== undefined || Date.now() - known.atMs < LOOK_AGAIN_MS))
      return known.file
    const file = await findOpa(TOOLS_DIR, this.#parts.env)
    this.#opa = { file, atMs: Date.now() }
    return file
  }
}

/** Without exact numbers, which would lose their class in another thread. */
function plain(input: unknown): PolicyInput {
  return withDoubles(input) as PolicyInput
}

function listFiles(files: DraftFiles | undefined): readonly object[] | null {
  return files === undefined ? null : Object.entries(files).map(([path, content]) => ({ path, content }))
}
