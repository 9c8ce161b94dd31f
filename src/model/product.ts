/** A product: APIs of a tenant that are subscribed to together, as plain data. */
import type { DeclaredProduct } from './schema/product.ts'

export interface Product extends DeclaredProduct {
  readonly id: string
  readonly tenantId: string
  /** Unique in the tenant, never changed. */
  readonly slug: string
  /** Without deleted APIs; unique. */
  readonly apiIds: readonly string[]
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}
