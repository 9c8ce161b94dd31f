/** Checks the health of addresses of upstreams whose rules ask for it, and reports changes. `balancer.ts` chooses the address of a call. */
import type { HealthCheckRule } from '../../model/schema/upstream-addresses.ts'
import type { UpstreamTransport } from '../../model/upstream-transport.ts'
import { healthKey } from './balancer.ts'
import type { Egress } from './egress.ts'
import type { UpstreamRules } from './upstream-rules.ts'

const MAX_RUNNING = 32
/** Wait of the next check while the maximum number runs. */
const BUSY_MS = 200
/** New addresses are checked within this time, not all at once. */
const FIRST_WITHIN_MS = 1000
/** Each delay is longer or shorter by up to this part. */
const JITTER = 0.1
const MAX_RESPONSE_BYTES = 64 * 1024

interface Checked {
  readonly key: string
  readonly url: string
  readonly rule: HealthCheckRule
  readonly transport: UpstreamTransport | undefined
  timer: NodeJS.Timeout | undefined
  isHealthy: boolean
  /** Checks in a row that contradict `isHealthy`. */
  contrary: number
}

export interface HealthCheckOptions {
  readonly egress: Egress
  /** Called with the addresses that are unhealthy, when they change. */
  readonly onChange: (unhealthy: ReadonlySet<string>) => void
  readonly random?: () => number
}

export class HealthChecks {
  readonly counts = { succeeded: 0, failed: 0 }
  readonly #options: HealthCheckOptions
  /** By health key. */
  readonly #checked = new Map<string, Checked>()
  #running = 0
  #closed = false

  constructor(options: HealthCheckOptions) {
    this.#options = options
  }

  /** Addresses that are checked. */
  get size(): number {
    return this.#checked.size
  }

  get unhealthy(): ReadonlySet<string> {
    const keys = new Set<string>()
    for (const { key, isHealthy } of this.#checked.values()) if (!isHealthy) keys.add(key)
    return keys
  }

  /** Addresses that are known already keep their state. */
  load(all: Iterable<UpstreamRules>): void {
    const kept = new Set<string>()
    for (const { key: rulesKey, addresses, checkTransport: transport } of all) {
      const rule = addresses?.healthCheck ?? null
      if (rule === null) continue
      for (const { url } of addresses!.addresses) {
        const key = healthKey(rulesKey, url)
        kept.add(key)
        if (!this.#checked.has(key)) this.#begin({ key, url, rule, transport })
      }
    }
    let changed = false
    for (const [key, { timer, isHealthy }] of this.#checked) {
      if (kept.has(key)) continue
      clearTimeout(timer)
      this.#checked.delete(key)
      changed ||= !isHealthy
    }
    if (changed) this.#options.onChange(this.unhealthy)
  }

  close(): void {
    this.#closed = true
    for (const { timer } of this.#checked.values()) clearTimeout(timer)
    this.#checked.clear()
  }

  #begin(fields: Pick<Checked, 'key' | 'url' | 'rule' | 'transport'>): void {
    const checked = { ...fields, timer: undefined, isHealthy: true, contrary: 0 }
    this.#checked.set(fields.key, checked)
    this.#schedule(checked, this.#random() * Math.min(FIRST_WITHIN_MS, fields.rule.intervalMs))
  }

  #schedule(checked: Checked, delayMs: number): void {
    if (this.#closed || this.#checked.get(checked.key) !== checked) return
    checked.timer = setTimeout(() => void this.#check(checked), delayMs)
    // it must not keep the process alive
    checked.timer.unref()
  }

  async #check(checked: Checked): Promise<void> {
    const { url, rule, transport } = checked
    if (this.#running >= MAX_RUNNING) return this.#schedule(checked, BUSY_MS)
    this.#running++
    const response = await this.#options.egress.request({
      method: 'GET',
      url: url.replace(/\/+$/, '') + rule.path,
      headers: ['user-agent', 'toolgate-health-check'],
      timeoutMs: rule.timeoutMs,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      transport,
    })
    this.#running--
    // a body that is too long has come with a status, which is not known here: such a check fails
    this.#note(checked, response.kind === 'response' && response.status >= 200 && response.status < 400)
    this.#schedule(checked, rule.intervalMs * (1 + JITTER * (2 * this.#random() - 1)))
  }

  #note(checked: Checked, succeeded: boolean): void {
    this.counts[succeeded ? 'succeeded' : 'failed']++
    if (this.#checked.get(checked.key) !== checked) return
    if (succeeded === checked.isHealthy) {
      checked.contrary = 0
      return
    }
    const { unhealthyAfter, healthyAfter } = checked.rule
    if (++checked.contrary < (succeeded ? healthyAfter : unhealthyAfter)) return
    checked.contrary = 0
    checked.isHealthy = succeeded
    this.#options.onChange(this.unhealthy)
  }

  #random(): number {
    return (this.#options.random ?? Math.random)()
  }
}
