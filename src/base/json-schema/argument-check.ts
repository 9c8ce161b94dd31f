/** Checks the arguments of calls in place or in a worker thread, by an estimate of the cost. `validate.ts` makes the validators. */

import { andThen, type MaybePromise } from '../and-then.ts'
import { nextTurn } from '../async/slices.ts'
import { writeJson } from '../json/exact-number.ts'
import type { JsonSchema } from '../json/json-schema.ts'
import { isLongJson, writeLongJson } from '../json/long-json.ts'
import { type FairJobLimits, FairJobWorker } from '../threads/fair-job-worker.ts'
import type { WorkerJob } from '../threads/job-worker.ts'
import type { CheckOutcome } from './argument-fault.ts'
import type { CheckMessage, CheckRequest, SchemaMessage } from './check-messages.ts'
import { type ArgumentSize, programOf, SchemaCost } from './cost.ts'
import { isWarm, measureUpTo, prepareValidator, type SteppedValidator, TOO_DEEP, warmUp } from './validate.ts'

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
/** Arguments with more are checked in the worker: counting them, too, takes long. */
const MANY_VALUES = 5_000
/** Schemas with at most so many keywords compile in a few milliseconds; others get a turn of the event loop for each step. */
const KEYWORDS_AT_ONCE = 20
/** Instructions of all patterns of a schema for the linear-time engine, which takes about 5 µs to build one. */
const MAX_IN_PLACE_PROGRAM = 1_000

/** A schema whose checks may be made in place. */
interface InPlace {
  readonly cost: SchemaCost
  readonly validator: SteppedValidator
  /** To compile. */
  readonly isQuick: boolean
}

/** One for each serving thread; its worker starts when it is first needed. */
export class ArgumentChecker {
  readonly #limits: CheckLimits
  readonly #worker: FairJobWorker
  #schemas = 0
  #warming: NodeJS.Timeout | undefined

  constructor(limits: CheckLimits = DEFAULT_CHECK_LIMITS) {
    this.#limits = limits
    const file = new URL('./check-worker.ts', import.meta.url)
    this.#worker = new FairJobWorker(file, { maxOldGenerationSizeMb: MAX_HEAP_MB, stackSizeMb: 4 }, limits)
  }

  /** Has V8 compile what checks need, after a time: until then the thread starts, and schemas are compiled a step in each turn. */
  warmUpIn(delayMs: number): void {
    this.#warming = setTimeout(() => void warmUp(nextTurn), delayMs).unref()
  }

  /**
   * @param owner whose checks count together, so that one tenant's do not displace those of the others
   * @returns a function that never throws and never rejects
   */
  prepare(schema: JsonSchema, owner: string): (args: unknown) => MaybePromise<CheckOutcome> {
    const schemaId = ++this.#schemas
    // null: never in place
    let inPlace: InPlace | null | undefined
    return args => {
      const size = measureUpTo(args, MANY_VALUES)
      if (size === undefined) return TOO_DEEP
      if (inPlace === undefined) inPlace = this.#inPlace(schema)
      if (size === 'many') return this.#check(schemaId, schema, owner, () => longText(args))
      if (inPlace === null || !this.#isCheap(inPlace.cost, size))
        return this.#check(schemaId, schema, owner, () =>
          isLongJson(args) ? longText(args) : writeJson(args),
        )
      return checkIn(inPlace, args, size)
    }
  }

  close(): Promise<void> {
    clearTimeout(this.#warming)
    return this.#worker.close()
  }

  #inPlace(schema: JsonSchema): InPlace | null {
    const cost = new SchemaCost(schema)
    if (cost.keywords > this.#limits.inPlaceKeywords) return null
    const instructions = programOf(schema)
    if (instructions > MAX_IN_PLACE_PROGRAM) return null
    const isQuick = cost.keywords <= KEYWORDS_AT_ONCE && instructions === 0
    return { cost, validator: prepareValidator(schema), isQuick }
  }

  #isCheap(cost: SchemaCost, size: ArgumentSize): boolean {
    const factor = size.exact || cost.exact ? EXACT_FACTOR : 1
    return factor * cost.of(size) <= this.#limits.inPlaceNs
  }

  #check(
    schemaId: number,
    schema: JsonSchema,
    owner: string,
    argsText: () => MaybePromise<string>,
  ): MaybePromise<CheckOutcome> {
    const job = (args: string) => checkJob({ schemaId, args }, schema, this.#limits)
    return this.#worker.run(owner, () => andThen(argsText(), job)) ?? 'overloaded'
  }
}

/** Writing many values takes as long as reading them did: other calls come before it and between. */
async function longText(args: unknown): Promise<string> {
  await nextTurn()
  return (await writeLongJson(args)).join('')
}

function checkIn(
  { validator, isQuick }: InPlace,
  args: unknown,
  size: ArgumentSize,
): MaybePromise<CheckOutcome> {
  const faults = validator.check(args, size)
  if (faults !== undefined) return faults
  if (!isQuick || !isWarm()) return checkInTurns(validator, args, size)
  for (;;) {
    validator.compileNext()
    const checked = validator.check(args, size)
    if (checked !== undefined) return checked
  }
}

/** Each step of the compilation has its own turn. */
async function checkInTurns(
  validator: SteppedValidator,
  args: unknown,
  size: ArgumentSize,
): Promise<CheckOutcome> {
  for (;;) {
    await nextTurn()
    const faults = validator.check(args, size)
    if (faults !== undefined) return faults
    validator.compileNext()
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
