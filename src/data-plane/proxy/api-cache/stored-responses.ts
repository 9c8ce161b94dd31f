/** Holds responses of upstreams by API, address and variant, within bounds of bytes. */
import { getOrSet } from '../../../base/once-per.ts'
import type { CompiledApi } from '../../snapshot/snapshot.ts'

export interface StoredResponse {
  readonly status: number
  /** Flat, as received. */
  readonly headers: readonly string[]
  readonly body: Uint8Array
  readonly receivedAtMs: number
  /** Age when the response was received. */
  readonly ageSecs: number
  /** From its receipt. */
  readonly freshSecs: number
}

interface Entry extends StoredResponse {
  readonly place: Place
  readonly variant: string
  readonly bytes: number
}

/** The responses of one address. */
interface Place {
  readonly key: string
  /** Places of its API. */
  readonly places: Map<string, Place>
  readonly variants: Map<string, Entry>
}

interface Tenant {
  bytes: number
  readonly apis: Map<CompiledApi, Map<string, Place>>
  /** Least recently used first. */
  readonly entries: Set<Entry>
}

const MAX_TENANT_BYTES = 8 * 1024 * 1024
const MAX_BYTES = 64 * 1024 * 1024
/** Entry bytes of an entry, beside its texts and its body. */
const ENTRY_BYTES = 500

export class StoredResponses {
  readonly #tenants = new Map<string, Tenant>()
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** @param variant of the address: what else of the request reached the upstream, and for whom the response is */
  find(api: CompiledApi, key: string, variant: string): StoredResponse | undefined {
    const tenant = this.#tenants.get(api.tenant)
    const found = tenant?.apis.get(api)?.get(key)?.variants.get(variant)
    if (found === undefined) return undefined
    tenant!.entries.delete(found)
    tenant!.entries.add(found)
    return found
  }

  keep(api: CompiledApi, key: string, variant: string, response: StoredResponse): void {
    const tenant = getOrSet(this.#tenants, api.tenant, newTenant)
    const places = getOrSet(tenant.apis, api, () => new Map<string, Place>())
    const place = getOrSet(places, key, () => ({ key, places, variants: new Map() }))
    const before = place.variants.get(variant)
    if (before !== undefined) this.#drop(tenant, before)
    const texts = response.headers.reduce((sum, text) => sum + text.length, key.length + variant.length)
    const bytes = ENTRY_BYTES + 2 * texts + response.body.byteLength
    const entry: Entry = { ...response, place, variant, bytes }
    place.variants.set(variant, entry)
    // a place that lost its last variant was removed
    places.set(key, place)
    tenant.entries.add(entry)
    tenant.bytes += bytes
    this.#bytes += bytes
    while (tenant.bytes > MAX_TENANT_BYTES) this.#dropOldest(tenant)
    while (this.#bytes > MAX_BYTES) this.#dropOldest(this.#largest())
  }

  /** Removes all responses of an address. */
  invalidate(api: CompiledApi, key: string): void {
    const tenant = this.#tenants.get(api.tenant)
    const place = tenant?.apis.get(api)?.get(key)
    for (const entry of place?.variants.values() ?? []) this.#drop(tenant!, entry)
  }

  /** Removes the responses of APIs that are not served as they were. */
  retain(apis: ReadonlySet<CompiledApi>): void {
    for (const [name, tenant] of this.#tenants) {
      for (const [api, places] of tenant.apis) {
        if (apis.has(api)) continue
        for (const place of places.values())
          for (const entry of place.variants.values()) this.#drop(tenant, entry)
        tenant.apis.delete(api)
      }
      if (tenant.apis.size === 0) this.#tenants.delete(name)
    }
  }

  /** @returns the number of responses removed */
  clear(): number {
    let count = 0
    for (const { entries } of this.#tenants.values()) count += entries.size
    this.#tenants.clear()
    this.#bytes = 0
    return count
  }

  /** So that a tenant with few responses does not lose them to one with many. */
  #largest(): Tenant {
    let largest: Tenant | undefined
    for (const tenant of this.#tenants.values())
      if (largest === undefined || tenant.bytes > largest.bytes) largest = tenant
    return largest!
  }

  #dropOldest(tenant: Tenant): void {
    for (const entry of tenant.entries) return this.#drop(tenant, entry)
  }

  #drop(tenant: Tenant, entry: Entry): void {
    const { place, variant, bytes } = entry
    tenant.entries.delete(entry)
    tenant.bytes -= bytes
    this.#bytes -= bytes
    place.variants.delete(variant)
    if (place.variants.size === 0) place.places.delete(place.key)
  }
}

function newTenant(): Tenant {
  return { bytes: 0, apis: new Map(), entries: new Set() }
}
