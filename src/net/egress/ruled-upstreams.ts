/** The upstreams of APIs that have rules for them, the health of their addresses, and counts. */
import type { Egress } from './egress.ts'
import { emptyMirrorCounts } from './mirror.ts'
import { type RuledObserver, RuledUpstream } from './ruled-upstream.ts'
import type { UpstreamRules } from './upstream-rules.ts'

export class RuledUpstreams {
  readonly mirrored = emptyMirrorCounts()
  readonly #egress: Egress
  readonly #observer: RuledObserver
  readonly #upstreams = new Map<string, RuledUpstream>()
  #unhealthy: ReadonlySet<string> = new Set()

  constructor(egress: Egress, observer: Omit<RuledObserver, 'health' | 'mirrored'> = {}) {
    this.#egress = egress
    const health = { has: (key: string) => this.#unhealthy.has(key) }
    this.#observer = { ...observer, health, mirrored: this.mirrored }
  }

  get openCircuits(): number {
    let open = 0
    for (const upstream of this.#upstreams.values()) open += upstream.openCircuits
    return open
  }

  /** Addresses that fail their health checks. */
  get unhealthy(): number {
    return this.#unhealthy.size
  }

  /** @param keys of `healthKey` */
  markUnhealthy(keys: ReadonlySet<string>): void {
    this.#unhealthy = keys
  }

  of(rules: UpstreamRules): RuledUpstream {
    let found = this.#upstreams.get(rules.key)
    if (found === undefined) {
      found = new RuledUpstream(rules, this.#egress, this.#observer)
      this.#upstreams.set(rules.key, found)
    }
    return found
  }

  /** Removes those that a snapshot has no more; the others keep what was learned about their upstream. */
  load(wanted: Iterable<UpstreamRules>): void {
    const kept = new Set<string>()
    for (const { key } of wanted) kept.add(key)
    for (const key of this.#upstreams.keys()) if (!kept.has(key)) this.#upstreams.delete(key)
  }
}
