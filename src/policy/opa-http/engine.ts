/** The policy engine that requests decisions from a server by OPA's data API or AuthZEN, and denies when it receives none. */

import { CircuitBreaker } from '../../base/async/circuit-breaker.ts'
import { writeJson } from '../../base/json/exact-number.ts'
import { isObject } from '../../base/json/is-object.ts'
import { parseJson } from '../../base/json/parse-json.ts'
import type { Egress, EgressFailure, EgressResponse } from '../../net/egress/egress.ts'
import { decisionOf, type OnPolicyFailure, policyUnavailable } from '../decision.ts'
import type { Decision, PolicyEngine, PolicyInput, PreparedPolicy } from '../engine.ts'
import { failureReporter } from '../report-failure.ts'

export interface OpaHttpOptions {
  /** Where decisions are asked for: `http://opa:8181/v1/data/toolgate/decision`, or `…/access/v1/evaluation`. */
  readonly url: string
  readonly egress: Egress
  /** Default: `authzen` when the address ends with `/access/v1/evaluation`, else `opa`. */
  readonly form?: PolicyServerForm
  /** Timeout of one question, waiting for its turn included. Default 500. */
  readonly timeoutMs?: number
  /** Questions on their way at once. Default 64; as many as 100 times more wait. */
  readonly maxInFlight?: number
  /** `Authorization` header for the server, scheme included. */
  readonly authorization?: string
  readonly onFailure?: OnPolicyFailure
  /** Called when the server stops making decisions, and when it makes them again. */
  readonly onAvailable?: (available: boolean) => void
  readonly log?: { warn(fields: object, message: string): void }
  /** Monotonic milliseconds; for tests. */
  readonly now?: () => number
}

const MAX_RESPONSE_BYTES = 1024 * 1024
const WAITING_PER_IN_FLIGHT = 100
const UNKNOWN_REVISION = 'unknown'

/** The bundle that `prepare` is given is the server's business: it is not read here. @throws Error when the address is none. */
export function createOpaHttpEngine(options: OpaHttpOptions): PolicyEngine {
  const url = addressOf(options)
  return {
    prepare: () => Promise.resolve(new OpaHttpPolicy(url, options)),
  }
}

class OpaHttpPolicy implements PreparedPolicy {
  readonly engine = 'opa-http'
  /** Nothing is cached: the server may decide differently at any time. */
  readonly cached = 0
  readonly #url: string
  readonly #form: Form
  readonly #egress: Egress
  readonly #headers: readonly string[]
  readonly #timeoutMs: number
  readonly #now: () => number
  readonly #breaker = new CircuitBreaker()
  readonly #concurrencyLimit: ConcurrencyLimit
  readonly #onFailure: OnPolicyFailure
  readonly #onAvailable: (available: boolean) => void
  #isAvailable = true
  #revision = UNKNOWN_REVISION
  #closed = false

  constructor(url: URL, options: OpaHttpOptions) {
    this.#form = formOf(url, options.form)
    this.#url = url.href
    this.#egress = options.egress
    this.#timeoutMs = options.timeoutMs ?? 500
    this.#now = options.now ?? (() => performance.now())
    const maxInFlight = options.maxInFlight ?? 64
    this.#concurrencyLimit = new ConcurrencyLimit(maxInFlight, maxInFlight * WAITING_PER_IN_FLIGHT)
    this.#onFailure = failureReporter(options)
    this.#onAvailable = options.onAvailable ?? (() => {})
    this.#headers = [
      'content-type',
      'application/json',
      'accept',
      'application/json',
      ...(options.authorization === undefined ? [] : ['authorization', options.authorization]),
    ]
  }

  /** Revision of the last response: the server does not announce a change of its policy. */
  get revision(): string {
    return this.#revision
  }

  async decide(input: PolicyInput): Promise<Decision> {
    if (this.#closed) return this.#fail('closed', 'the gateway closed the connection to the policy server')
    const askedAt = this.#now()
    if (!(await this.#concurrencyLimit.enter())) {
      return this.#fail('overtime', 'too many requests to the policy server are pending')
    }
    try {
      const leftMs = this.#timeoutMs - (this.#now() - askedAt)
      if (leftMs <= 0)
        return this.#fail(
          'overtime',
          'the decision timed out before the gateway could send the request to the policy server',
        )
      const body = this.#form.request(input)
      // the last step before the call, because every admitted call must be settled
      const admission = this.#breaker.admit(this.#url, this.#now())
      if (admission.state === 'open')
        return this.#fail(
          'unreachable',
          'the circuit breaker is open, because the policy server failed several times in a row',
        )
      const response = await this.#ask(body, leftMs)
      const isSuccess = response.kind === 'response' && response.status === 200
      this.#breaker.settle(this.#url, admission, isSuccess ? 'succeeded' : 'failed', this.#now())
      if (isSuccess !== this.#isAvailable) this.#onAvailable(isSuccess)
      this.#isAvailable = isSuccess
      return this.#read(response)
    } catch (error) {
      // for example an input that cannot be serialized: a bug, and still a denial
      return this.#fail('trap', (error as Error).message)
    } finally {
      this.#concurrencyLimit.leave()
    }
  }

  /** What the server reads is unknown. */
  listKey(): undefined {
    return undefined
  }

  clearCache(): number {
    return 0
  }

  close(): void {
    this.#closed = true
  }

  async #ask(body: string, timeoutMs: number): Promise<EgressResponse | EgressFailure> {
    return this.#egress.request({
      method: 'POST',
      url: this.#url,
      headers: this.#headers,
      body,
      timeoutMs,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    })
  }

  #read(response: EgressResponse | EgressFailure): Decision {
    if (response.kind === 'failure') {
      if (response.reason === 'timeout') return this.#fail('overtime', response.message)
      return this.#fail(response.reason === 'too_large' ? 'too_large' : 'unreachable', response.message)
    }
    if (response.status !== 200) {
      return this.#fail('unreachable', `the policy server responded with status ${response.status}`)
    }
    const reply = parseJson(response.body)
    if (reply === undefined)
      return this.#fail('malformed', 'the response of the policy server is not valid JSON')
    const document = this.#form.document(reply)
    if (document === undefined)
      return this.#fail('undefined', 'the policy server has no decision at the path of POLICY_URL')
    this.#revision = this.#form.revision(reply) ?? UNKNOWN_REVISION
    return (
      decisionOf(document, this.#revision) ??
      this.#fail('malformed', 'the response of the policy server is not a decision')
    )
  }

  #fail(failure: Parameters<OnPolicyFailure>[0], detail: string): Decision {
    this.#onFailure(failure, detail)
    return policyUnavailable(this.#revision)
  }
}

function addressOf({ url: text, form }: OpaHttpOptions): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new Error(`"${text}" is not the URL of a policy server; it must begin with http:// or https://`)
  }
  if (formOf(url, form) === formOf(url, 'opa') && !url.searchParams.has('provenance')) {
    // asks OPA for the revision that decided
    url.searchParams.set('provenance', 'true')
  }
  return url
}

class ConcurrencyLimit {
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(maxInside: number, maxWaiting: number) {
    this.#free = maxInside
    this.#maxWaiting = maxWaiting
  }

  /** Resolves to true when it is one's turn: then `leave` must be called once. False: too many are waiting already. */
  enter(): Promise<boolean> {
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve(true)
    }
    if (this.#waiting.length >= this.#maxWaiting) return Promise.resolve(false)
    return new Promise(resolve => this.#waiting.push(() => resolve(true)))
  }

  leave(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }
}

/** `opa`: POST /v1/data/<path> (OPA REST API, "Data API"). `authzen`: POST /access/v1/evaluation (Authorization API 1.0 §6). */
type PolicyServerForm = 'opa' | 'authzen'

interface Form {
  /** Body of the request. */
  request(input: PolicyInput): string
  /** The decision document `{allow, reasons, obligations}`; undefined when the server made no decision. */
  document(response: unknown): unknown
  /** Revision of the policy that decided; undefined when the server does not say. */
  revision(response: unknown): string | undefined
}

function formOf(url: URL, form: PolicyServerForm | undefined): Form {
  const chosen = form ?? (url.pathname.endsWith('/access/v1/evaluation') ? 'authzen' : 'opa')
  return chosen === 'authzen' ? AUTHZEN : OPA
}

const OPA: Form = {
  request: input => writeJson({ input }),
  document: response => (isObject(response) ? response.result : undefined),
  revision(response) {
    // ?provenance=true: one entry per bundle the server runs
    const provenance = isObject(response) ? response.provenance : undefined
    const bundles = isObject(provenance) ? provenance.bundles : undefined
    if (!isObject(bundles)) return undefined
    const revisions = Object.values(bundles).flatMap(bundle =>
      isObject(bundle) && typeof bundle.revision === 'string' && bundle.revision !== ''
        ? [bundle.revision]
        : [],
    )
    return revisions.length === 0 ? undefined : revisions.sort().join('+')
  },
}

const AUTHZEN: Form = {
  request: input => writeJson(input),
  document(response) {
    if (!isObject(response) || response.decision === undefined) return undefined
    const context = isObject(response.context) ? response.context : {}
    return { allow: response.decision, reasons: context.reasons ?? [], obligations: context.obligations }
  },
  revision(response) {
    const context = isObject(response) ? response.context : undefined
    return isObject(context) && typeof context.revision === 'string' ? context.revision : undefined
  },
}
