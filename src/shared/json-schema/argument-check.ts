/** Checks arguments in place where a bound of the cost allows it, and in a worker thread where it does not. It does not decide what the caller reads. */
import { writeJson } from '../../model/exact-number.ts'
import type { JsonSchema } from '../../model/json-schema.ts'
import type { MaybePromise } from '../call/and-then.ts'
import { type FairJobLimits, FairJobWorker } from '../threads/fair-job-worker.ts'
import type { WorkerJob } from '../threads/job-worker.ts'
import type { CheckOutcome } from './argument-fault.ts'
import type { CheckMessage, CheckRequest, SchemaMessage } from './check-messages.ts'
import { type ArgumentSize, SchemaCost } from './cost.ts'
import { compileValidator, measure, TOO_DEEP } from './validate.ts'

export interface CheckLimits extends FairJobLimits {
  /** Nanoseconds of the bound; a check above it leaves this thread. */
  readonly inPlaceNs: number
  /** Keywords; compiling a larger schema would block this thread. */
  readonly inPlaceKeywords: number
  /** For one check, and before it for compiling its schema. */
  readonly timeoutMs: number
  readonly compileTimeoutMs: number
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

/** Comparing decimals takes about ten times as long as comparing doubles. */
const EXACT_FACTOR = 10
const MAX_HEAP_MB = 512
const MANY_VALUES = 5_000

/** One for each serving thread; its worker starts when it is first needed. */
export class ArgumentChecker {
  readonly #limits: CheckLimits
  readonly #worker: FairJobWorker
  #schemas = 0

  constructor(limits: CheckLimits = DEFAULT_CHECK_LIMITS) {
    this.#limits = limits
    const file = new URL('./check-worker.ts', import.meta.url)
    this.#worker = new FairJobWorker(file, { maxOldGenerationSizeMb: MAX_HEAP_MB, stackSizeMb: 4 }, limits)
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
      if (!this.#fitsInPlace(cost, size)) return this.#check(schemaId, schema, owner, args, size)
      validate ??= compileValidator(schema)
      return validate(args, size)
    }
  }

  close(): Promise<void> {
    return this.#worker.close()
  }

  #fitsInPlace(cost: SchemaCost, size: ArgumentSize): boolean {
    const factor = size.exact || cost.exact ? EXACT_FACTOR : 1
    return cost.keywords <= this.#limits.inPlaceKeywords && factor * cost.of(size) <= this.#limits.inPlaceNs
  }

  #check(
    schemaId: number,
    schema: JsonSchema,
    owner: string,
    args: unknown,
    { values }: ArgumentSize,
  ): MaybePromise<CheckOutcome> {
    const post = (): MaybePromise<CheckOutcome> => {
      const job = () => checkJob({ schemaId, args: writeJson(args) }, schema, this.#limits)
      return this.#worker.run(owner, job) ?? 'overloaded'
    }
    // writing many values takes as long as reading them did: other calls come between
    if (values < MANY_VALUES) return post()
    return new Promise(resolve => setImmediate(() => resolve(post())))
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
      if (message === 'needs_schema') running.post({ schema: writeJson(schema) } satisfies SchemaMessage)
      else if (message === 'compiling') running.restartTimeout(compileTimeoutMs)
      else if (message === 'compiled') running.restartTimeout(timeoutMs)
      else return message
      return undefined
    },
    fail: () => 'too_expensive',
  }
}
