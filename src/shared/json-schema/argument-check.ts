/** Checks arguments in place where a bound of the cost allows it, and in a worker thread where it does not. It compiles no schema of its own. */
import type { JsonSchema } from '../../model/json-schema.ts'
import type { MaybePromise } from '../call/and-then.ts'
import { JobWorker, type WorkerJob } from '../threads/job-worker.ts'
import type { CheckOutcome } from './argument-fault.ts'
import type { CheckMessage, CheckRequest, SchemaMessage } from './check-messages.ts'
import { type ArgumentSize, SchemaCost } from './cost.ts'
import { compileValidator, measure, TOO_DEEP } from './validate.ts'

export interface CheckLimits {
  /** Nanoseconds of the bound; a check above it leaves this thread. */
  readonly inPlaceNs: number
  /** Keywords; compiling a larger schema would block this thread. */
  readonly inPlaceKeywords: number
  /** For one check, and before it for compiling its schema. */
  readonly timeoutMs: number
  readonly compileTimeoutMs: number
  /** Checks of one owner and of all that may be pending. */
  readonly maxPendingPerOwner: number
  readonly maxPending: number
  /** After a check that did not end in time, checks of its owner that need the thread are refused for this long. */
  readonly pauseMs: number
}

const DEFAULT_CHECK_LIMITS: CheckLimits = {
  inPlaceNs: 4_000_000,
  inPlaceKeywords: 100,
  timeoutMs: 1_000,
  compileTimeoutMs: 4_000,
  maxPendingPerOwner: 8,
  maxPending: 64,
  pauseMs: 5_000,
}

const MAX_HEAP_MB = 512
const IDLE_MS = 60_000

interface Owner {
  pending: number
  pausedUntilMs: number
}

/** One for each serving thread; its worker starts when it is first needed. */
export class ArgumentChecker {
  readonly #limits: CheckLimits
  readonly #worker = new JobWorker(
    new URL('./check-worker.ts', import.meta.url),
    { maxOldGenerationSizeMb: MAX_HEAP_MB, stackSizeMb: 4 },
    IDLE_MS,
  )
  readonly #owners = new Map<string, Owner>()
  #pending = 0
  #schemas = 0

  constructor(limits: CheckLimits = DEFAULT_CHECK_LIMITS) {
    this.#limits = limits
  }

  /**
   * @param owner whose checks count together, so that one tenant's do not displace those of the others
   * @returns a function that never throws and never rejects
   */
  prepare(schema: JsonSchema, owner: string): (args: unknown) => MaybePromise<CheckOutcome> {
    const schemaId = ++this.#schemas
    let validate: ReturnType<typeof compileValidator> | undefined
    let cost: SchemaCost | undefined
    return args => {
      const size = measure(args)
      if (size === undefined) return TOO_DEEP
      cost ??= new SchemaCost(schema)
      if (!this.#fitsInPlace(cost, size)) return this.#check(schemaId, schema, owner, args)
      validate ??= compileValidator(schema)
      return validate(args, size)
    }
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  #fitsInPlace(cost: SchemaCost, size: ArgumentSize): boolean {
    return cost.keywords <= this.#limits.inPlaceKeywords && cost.of(size) <= this.#limits.inPlaceNs
  }

  #check(schemaId: number, schema: JsonSchema, name: string, args: unknown): MaybePromise<CheckOutcome> {
    const { maxPending, maxPendingPerOwner, pauseMs } = this.#limits
    const owner = this.#owners.get(name) ?? { pending: 0, pausedUntilMs: 0 }
    const paused = owner.pausedUntilMs > performance.now()
    if (paused || this.#pending >= maxPending || owner.pending >= maxPendingPerOwner) return 'overloaded'
    this.#owners.set(name, owner)
    owner.pending++
    this.#pending++
    const job = checkJob({ schemaId, args: JSON.stringify(args) }, schema, this.#limits)
    return this.#worker.run(job).then(outcome => {
      owner.pending--
      this.#pending--
      if (outcome === 'too_expensive') owner.pausedUntilMs = performance.now() + pauseMs
      else if (owner.pending === 0) this.#owners.delete(name)
      return outcome
    })
  }
}

function checkJob(
  request: CheckRequest,
  schema: JsonSchema,
  { timeoutMs, compileTimeoutMs }: CheckLimits,
): WorkerJob<CheckMessage, CheckOutcome> {
  return {
    message: request,
    // includes the start of the thread, which a busy machine delays
    timeoutMs: compileTimeoutMs,
    receive(message, running) {
      if (message === 'needs_schema') running.post({ schema } satisfies SchemaMessage)
      else if (message === 'compiling') running.restartTimeout(compileTimeoutMs)
      else if (message === 'compiled') running.restartTimeout(timeoutMs)
      else return message
      return undefined
    },
    fail: () => 'too_expensive',
  }
}
