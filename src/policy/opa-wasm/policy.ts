/** A prepared policy that decides by a cache of decisions and a WebAssembly instance, within bounds. */

import { BoundedMap } from '../../base/async/bounded-map.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import type { Bundle } from '../bundle.ts'
import { decisionOf, type OnPolicyFailure, policyUnavailable } from '../decision.ts'
import { DecisionCache } from '../decision-cache.ts'
import { inputEncoder } from '../encode-input.ts'
import type { Decision, PolicyInput, PreparedPolicy } from '../engine.ts'
import { OpaInstance, ResultTooLarge } from './instance.ts'
import type { WasmModule } from './webassembly.ts'

export interface OpaWasmLimits {
  readonly maxEvaluationMs: number
  readonly maxMemoryBytes: number
  readonly maxResultBytes: number
  readonly maxCached: number
  readonly onFailure: OnPolicyFailure
}

/** For single tools, resources and prompts: without arguments, they are only being listed. */
const CALL_ACTIONS: ReadonlySet<string> = new Set(['tools.call', 'resources.read', 'prompts.get'])
/** Results repeat: most are one of a few texts. */
const MAX_RESULTS = 256
/** Longer results are parsed each time. */
const KEPT_RESPONSE_CHARACTERS = 4096
/** V8 compiles lazily: without these, the first caller would wait for it, maybe for too long. */
const WARM_UP_EVALUATIONS = 20
/** Runs of one evaluation, of which one must keep the limit. */
const MAX_RUNS = 3
/** After a run this long only one more is made, so that a slow policy does not hold the thread for three of them. */
const LONG_RUN_MS = 250
/** Reading a large input takes its time, and that is not the rules' fault: a millisecond more for so many characters. */
const CHARACTERS_PER_MS = 16_384
/** An instance that one large evaluation has blown up is replaced by a fresh one. */
const REPLACE_ABOVE_BYTES = 8 * 1024 * 1024

export class OpaWasmPolicy implements PreparedPolicy {
  readonly engine = 'opa-wasm'
  readonly revision: string
  readonly #bundle: Bundle
  readonly #module: WasmModule
  readonly #limits: OpaWasmLimits
  readonly #cache: DecisionCache
  readonly #cacheable: boolean
  readonly #encode: (input: PolicyInput) => string
  readonly #unavailable: Decision
  /** Codes of rules that look at arguments. */
  readonly #argumentCodes: ReadonlySet<string>
  readonly #results = new BoundedMap<string, Decision>(MAX_RESULTS)
  #instance: OpaInstance | undefined
  #closed = false

  /** @throws Error when the module cannot be started. */
  constructor(bundle: Bundle, module: WasmModule, limits: OpaWasmLimits) {
    this.revision = bundle.revision
    this.#bundle = bundle
    this.#module = module
    this.#limits = limits
    this.#cache = new DecisionCache(bundle.reads, limits.maxCached)
    this.#cacheable = bundle.reads.cacheable
    this.#encode = bundle.readsFound === undefined ? writeJson : inputEncoder(bundle.readsFound)
    this.#unavailable = policyUnavailable(bundle.revision)
    const looking = bundle.rules.filter(rule => rule.readsArguments === true).map(rule => rule.code)
    this.#argumentCodes = new Set(looking)
    this.#instance = this.#start()
  }

  decide(input: PolicyInput, subjectKey: string, resourceKey: number): Decision {
    if (!this.#cacheable) {
      const decision = this.#evaluate(input)
      return decision.allow || this.#argumentCodes.size === 0 ? decision : this.#ifKnown(input, decision)
    }
    const cached = this.#cache.find(input, subjectKey, resourceKey)
    if (cached !== undefined) return cached
    const decision = this.#evaluate(input)
    this.#cache.cache(input, subjectKey, resourceKey, decision)
    return decision
  }

  /** A tool that is only being listed is denied for what is known; some arguments may still be allowed. */
  #ifKnown(input: PolicyInput, decision: Decision): Decision {
    const listed = CALL_ACTIONS.has(input.action.name) && input.context.arguments === undefined
    if (!listed || decision.unavailable === true) return decision
    if (!decision.reasons.every(({ code }) => this.#argumentCodes.has(code))) return decision
    return Object.freeze({ ...decision, allow: true, reasons: [] })
  }

  listKey(subjectKey: string, input: () => PolicyInput): string | undefined {
    return this.#cache.listKey(subjectKey, input)
  }

  get cached(): number {
    return this.#cache.size
  }

  clearCache(): number {
    return this.#cache.clearCache()
  }

  close(): void {
    this.#closed = true
    this.#instance = undefined
    this.#cache.clearCache()
    this.#results.clear()
  }

  /** Evaluates, also to warm up, and says what is wrong with the response; undefined when it is a decision, or the policy's own "undefined". */
  probe(input: PolicyInput): string | undefined {
    let text: string
    try {
      text = this.#runningInstance().evaluate(this.#encode(input))
      for (let i = 0; i < WARM_UP_EVALUATIONS; i++) this.#runningInstance().evaluate(this.#encode(input))
    } catch (error) {
      this.#instance = undefined
      return `fails (${messageOf(error)})`
    }
    const document = documentOf(text)
    if (document === undefined) return undefined
    return decisionOf(document, this.revision) === undefined ? `returns ${text.slice(0, 200)}` : undefined
  }

  #evaluate(input: PolicyInput): Decision {
    if (this.#closed)
      return this.#fail(
        'closed',
        'this policy was closed: another policy was loaded, or the gateway is stopping',
      )
    let text: string
    try {
      text = this.#evaluateTimed(this.#encode(input))
    } catch (error) {
      // what a trap leaves behind in the memory is not to be trusted
      this.#instance = undefined
      if (error instanceof Overtime) return this.#fail('overtime', error.message)
      if (error instanceof ResultTooLarge) return this.#fail('too_large', error.message)
      return this.#fail('trap', messageOf(error))
    }
    return this.#results.get(text) ?? this.#read(text)
  }

  /**
   * Bounds the CPU time. Wall time is read first, because it costs least and is never below CPU time; it also counts while the
   * machine is paused or busy with others. A run beyond the limit is therefore repeated, by the thread's CPU clock where there is
   * one: if any run keeps the limit, the policy does.
   */
  #evaluateTimed(input: string): string {
    const maxMs = this.#limits.maxEvaluationMs + input.length / CHARACTERS_PER_MS
    let leastMs = Number.POSITIVE_INFINITY
    for (let runs = 1; ; runs++) {
      const instance = this.#runningInstance()
      const cpuBefore = runs === 1 ? undefined : threadCpuMs()
      const startedAt = performance.now()
      const text = instance.evaluate(input)
      const wallMs = performance.now() - startedAt
      if (instance.memoryBytes > REPLACE_ABOVE_BYTES) this.#instance = undefined
      if (wallMs <= maxMs) return text
      leastMs = Math.min(leastMs, wallMs)
      if (cpuBefore !== undefined) leastMs = Math.min(leastMs, threadCpuMs()! - cpuBefore)
      if (leastMs <= maxMs) return text
      if (runs === MAX_RUNS || (runs > 1 && leastMs > LONG_RUN_MS)) {
        throw new Overtime(
          `the evaluation took ${leastMs.toFixed(1)} ms in the fastest of ${runs} runs, more than the limit of ${maxMs.toFixed(1)} ms`,
        )
      }
    }
  }

  #read(text: string): Decision {
    const document = documentOf(text)
    if (document === undefined) return this.#fail('undefined', `"${this.#bundle.entrypoint}" is undefined`)
    const decision = decisionOf(document, this.revision)
    if (decision === undefined)
      return this.#fail('malformed', `the value of "${this.#bundle.entrypoint}" is not a decision`)
    if (text.length <= KEPT_RESPONSE_CHARACTERS) this.#results.set(text, decision)
    return decision
  }

  #fail(failure: Parameters<OnPolicyFailure>[0], detail: string): Decision {
    this.#limits.onFailure(failure, detail)
    return this.#unavailable
  }

  #runningInstance(): OpaInstance {
    this.#instance ??= this.#start()
    return this.#instance
  }

  #start(): OpaInstance {
    return new OpaInstance(this.#module, this.#bundle.data, this.#bundle.entrypoint, this.#limits)
  }
}

class Overtime extends Error {}

/** CPU time of this thread; undefined where the runtime has no such clock (it came with Node.js 22.19, 23.9 and 24). */
function threadCpuMs(): number | undefined {
  const { threadCpuUsage } = process as { threadCpuUsage?: () => { user: number; system: number } }
  if (threadCpuUsage === undefined) return undefined
  const { user, system } = threadCpuUsage.call(process)
  return (user + system) / 1000
}

/** The one result of a result set; undefined when there is none. */
function documentOf(text: string): unknown {
  const set = JSON.parse(text) as { result?: unknown }[]
  return set[0]?.result
}

/** opa-wasm throws bare strings and plain objects besides errors. */
function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message
  if (typeof error === 'object' && error !== null && 'message' in error) return String(error.message)
  return String(error)
}
