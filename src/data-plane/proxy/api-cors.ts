/** The cross-origin rule of one API, in place of that of the gateway. */

import { oncePer } from '../../base/once-per.ts'
import type { CorsRule } from '../../model/schema/cors.ts'
import type { Traffic } from '../../model/schema/traffic.ts'
import { TRAFFIC_METHODS } from '../../model/traffic.ts'
import type { HttpRequest } from '../../net/server/listener.ts'
import type { CompiledApi } from '../snapshot/snapshot.ts'

const NONE: readonly string[] = Object.freeze([])
/** Pages name it to the owner of the API; further headers as its rule and its upstream say. */
const ALWAYS_EXPOSED = 'x-request-id'
const FOREIGN: readonly string[] = Object.freeze(['vary', 'origin'])

class ApiCors {
  readonly #origins: ReadonlySet<string>
  readonly #allowsAll: boolean
  readonly #own: readonly string[]
  readonly #preflight: readonly string[]
  readonly #allowHeaders: string

  constructor(rule: CorsRule, methods: readonly string[] | null) {
    this.#origins = new Set(rule.origins)
    this.#allowsAll = this.#origins.has('*')
    const credentials = rule.credentials ? ['access-control-allow-credentials', 'true'] : []
    const exposed = ['access-control-expose-headers', [ALWAYS_EXPOSED, ...rule.exposeHeaders].join(',')]
    this.#own = [...credentials, ...exposed, 'vary', 'origin']
    const allowed = rule.methods ?? methods ?? TRAFFIC_METHODS
    this.#preflight = [
      ...credentials,
      ...['access-control-allow-methods', allowed.join(',')],
      ...['access-control-max-age', String(rule.maxAgeSecs)],
      ...['vary', 'origin'],
    ]
    this.#allowHeaders = rule.allowHeaders.join(',')
  }

  /** Headers of responses other than preflights. */
  headers(origin: string): readonly string[] {
    if (origin === '') return NONE
    return this.#allows(origin) ? ['access-control-allow-origin', origin, ...this.#own] : FOREIGN
  }

  /** @param names of request headers that choose the version of the API */
  preflight(request: HttpRequest, names: readonly string[]): Preflight {
    const origin = request.header('origin')
    if (origin === '' || !this.#allows(origin)) return { status: 403, headers: FOREIGN }
    const allowed = names.length === 0 ? this.#allowHeaders : [this.#allowHeaders, ...names].join(',')
    const own = ['access-control-allow-origin', origin, 'access-control-allow-headers', allowed]
    return { status: 204, headers: [...own, ...this.#preflight] }
  }

  #allows(origin: string): boolean {
    return this.#allowsAll || this.#origins.has(origin)
  }
}

interface Preflight {
  readonly status: number
  readonly headers: readonly string[]
}

/** For rules with `cors`. */
const madeOf = oncePer((traffic: Traffic) => new ApiCors(traffic.cors!, traffic.methods))

/** undefined: the rule of the gateway applies. */
export function ownCorsOf({ traffic }: CompiledApi): ApiCors | undefined {
  return traffic?.cors ? madeOf(traffic) : undefined
}
