/** What endpoints may need besides their transaction. It does nothing itself. */
import type { Fleet } from '../publisher/fleet.ts'
import type { Publisher } from '../publisher/publisher.ts'

export interface Services {
  readonly gatewayUrl: string
  readonly publisher: Publisher
  readonly fleet: Fleet
  /** Webhooks over plain HTTP are refused. */
  readonly httpsOnly: boolean
}
