/** Reads the catalog, as a visitor without a token or as a user, and finds what belongs to the user's tenant or application. */
import { ApiError, control } from '../api/client.ts'
import type { List, PortalApi, PortalProduct, PublicApi, PublicProduct, Subscription } from '../api/types.ts'
import { crossesTenants, user } from '../state/session.ts'

export type CatalogApi = PublicApi & Partial<Pick<PortalApi, 'tenant_id' | 'visibility'>>
export type CatalogProduct = PublicProduct & Partial<Pick<PortalProduct, 'tenant_id'>>

/** Beside the portal, without its session. */
async function publicCatalog<T>(path: string): Promise<T> {
  const response = await fetch(new URL(`../v1/public/${path}`, document.baseURI), { credentials: 'omit' })
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => undefined))
  return (await response.json()) as T
}

export function publicApis(search: string): Promise<List<CatalogApi>> {
  return publicCatalog(`apis${search}`)
}

/** APIs in the catalog of the user's tenant; for a user of every tenant, those of all. @throws ApiError for a visitor */
export function tenantApis(search: string): Promise<List<CatalogApi>> {
  return control(`portal/apis${search}`)
}

export function publicProducts(search: string): Promise<List<CatalogProduct>> {
  return publicCatalog(`products${search}`)
}

/** For the user's tenant; for a user of every tenant, those of all. */
export function tenantProducts(search: string): Promise<List<PortalProduct>> {
  return control(`portal/products${search}`)
}

/** An API of the user's tenant, else a public one. @throws ApiError 404 when the reader may not see it */
export function readApi(id: string): Promise<CatalogApi> {
  return read(`apis/${encodeURIComponent(id)}`)
}

/** A product of the user's tenant, else one with public APIs. @throws ApiError 404 when the reader may not see it */
export function readProduct(id: string): Promise<CatalogProduct> {
  return read(`products/${encodeURIComponent(id)}`)
}

async function read<T>(path: string): Promise<T> {
  if (user.value !== undefined)
    try {
      return await control<T>(`portal/${path}`)
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 403)) throw error
    }
  return publicCatalog(path)
}

/** Whether users of the tenant can subscribe to it: their catalog has it, as their own or as one that is shared with them. */
export function isOffered(api: CatalogApi): boolean {
  return isOwnTenant(api) || (api.tenant_id !== undefined && !crossesTenants.value)
}

/** Whether a subscription is one of the user's application, whose name begins with its tenant where the API is shared with that tenant. */
export function isOwnApplication({ application, subscriber_tenant_id }: Subscription): boolean {
  const { consumer, tenant } = user.value!
  return application === (subscriber_tenant_id === null ? consumer : `${tenant}/${consumer}`)
}

/** Whether the API or product belongs to the user's tenant, where it can be subscribed to. */
export function isOwnTenant({ tenant, tenant_id }: Pick<CatalogApi, 'tenant' | 'tenant_id'>): boolean {
  const own = user.value?.tenant
  return own !== null && own !== undefined && (own === tenant || own === tenant_id)
}
