/** The context in which one change of a configuration is written. */
import type { Change } from '../../../../model/configuration.ts'
import type { Tenant } from '../../../../model/tenant.ts'
import type { Transaction } from '../../../store/store.ts'
import type { Services } from '../../services.ts'
import type { AskPolicy } from '../authority.ts'
import type { Secrets } from './secrets.ts'

export interface Write {
  /** Limited to the tenant of the resource, where it has one. */
  readonly tx: Transaction
  /** null = a global plan, or a tenant that is created. */
  readonly tenant: Tenant | null
  readonly change: Change
  readonly services: Services
  readonly ask: AskPolicy
  /** By path in the configuration: the APIs of its tenants, with those that were created for it. */
  readonly apiIds: Map<string, string>
  readonly secrets: Secrets
  /** Whose keys new webhooks receive. */
  readonly keysOf: string
}
