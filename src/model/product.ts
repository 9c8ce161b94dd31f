/** A product: APIs of a tenant that are subscribed to together, as plain data. */

export const MAX_PRODUCT_APIS = 100

export interface Product {
  readonly id: string
  readonly tenantId: string
  /** Unique in the tenant, never changed. */
  readonly slug: string
  readonly name: string
  readonly description: string
  /** Slug of the plan of new subscriptions. */
  readonly plan: string
  /** Without deleted APIs; unique. */
  readonly apiIds: readonly string[]
  /** Shown in the catalog of the portal. */
  readonly portalVisibility: boolean
  /** Counts the changes; the ETag. */
  readonly revision: number
  readonly createdAt: Date
  readonly updatedAt: Date
}
