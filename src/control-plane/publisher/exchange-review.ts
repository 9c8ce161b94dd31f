/** Keeps APIs out of the share whose callers' tokens would be sent to an address that is not permitted. */
import type { Api } from '../../model/api.ts'
import { EXCHANGE_REFUSED, type MayExchangeAt } from '../../net/egress/oauth/exchange-endpoints.ts'
import type { ControlPlaneOptions } from '../api/options.ts'
import type { ShareRows } from '../store/repositories.ts'

export class ExchangeReview {
  readonly #mayExchangeAt: MayExchangeAt
  readonly #onFault: ControlPlaneOptions['onFault']
  /** Ids of the APIs that are reported. */
  readonly #reported = new Set<string>()
  /** Published, because gateways send nothing to them either before they know. */
  readonly #unknown = new Set<string>()

  constructor({ mayExchangeAt, onFault }: Pick<ControlPlaneOptions, 'mayExchangeAt' | 'onFault'>) {
    this.#mayExchangeAt = mayExchangeAt ?? (() => 'refused')
    this.#onFault = onFault
  }

  /** Why gateways do not get the API; undefined: they do. */
  faultOf({ mcp }: Pick<Api, 'mcp'>): string | undefined {
    const tokenUrl = exchangedAt(mcp)
    return tokenUrl !== undefined && this.#mayExchangeAt(tokenUrl) === 'refused'
      ? `mcp.authentication.token_url ${EXCHANGE_REFUSED}`
      : undefined
  }

  permittedApis(apis: ShareRows['apis']): ShareRows['apis'] {
    return apis.filter(api => {
      const fault = this.faultOf(api)
      const tokenUrl = exchangedAt(api.mcp)
      if (tokenUrl !== undefined && this.#mayExchangeAt(tokenUrl) === 'unknown') this.#unknown.add(tokenUrl)
      if (fault === undefined) this.#reported.delete(api.id)
      else if (!this.#reported.has(api.id)) {
        this.#reported.add(api.id)
        this.#onFault(`the API ${api.id} is not published`, new Error(fault))
      }
      return fault === undefined
    })
  }

  /** True once an address that was unknown is known: the APIs have to be reviewed again. */
  takeDue(): boolean {
    const isDue = [...this.#unknown].some(tokenUrl => this.#mayExchangeAt(tokenUrl) !== 'unknown')
    if (isDue) this.#unknown.clear()
    return isDue
  }
}

function exchangedAt(mcp: Api['mcp']): string | undefined {
  const { type, tokenUrl } = mcp?.authentication ?? {}
  return type === 'token_exchange' ? (tokenUrl ?? '') : undefined
}
