/** The bundles of tenants: one `<tenant>.tar.gz` each in a folder, read again when it changes. Which of them decide is `tightened.ts`'s. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedPolicy } from '../engine.ts'
import { fileSource } from './file-source.ts'
import { LivePolicy, type LivePolicyOptions } from './live-policy.ts'
import type { BundleSource } from './source.ts'
import type { TenantPolicies } from './tightened.ts'

/** As the control plane names them. */
const FILE = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\.tar\.gz$/
const MAX_TENANTS = 1000

interface Tenant {
  readonly source: BundleSource
  /** undefined: no bundle of the tenant could ever be served. */
  live: LivePolicy | undefined
  fault: string | undefined
}

export interface TenantStatus {
  readonly tenant: string
  /** null: every call of the tenant is denied. */
  readonly revision: string | null
  readonly fault?: string
}

export class TenantBundles {
  readonly #dir: string
  readonly #options: LivePolicyOptions
  readonly #tenants = new Map<string, Tenant>()

  constructor(dir: string, options: LivePolicyOptions) {
    this.#dir = dir
    this.#options = options
  }

  /**
   * Takes up what has changed in the folder.
   * @returns whether other bundles decide now.
   * @throws Error when the folder cannot be read; what was read before goes on deciding.
   */
  async refresh(): Promise<boolean> {
    const names = (await readdir(this.#dir)).flatMap(name => FILE.exec(name)?.[1] ?? [])
    if (names.length > MAX_TENANTS)
      throw new Error(`${this.#dir} holds bundles of ${names.length} tenants, more than ${MAX_TENANTS}`)
    let changed = false
    for (const name of [...this.#tenants.keys()].filter(known => !names.includes(known))) {
      const { live } = this.#tenants.get(name)!
      this.#tenants.delete(name)
      await live?.close()
      changed = true
    }
    for (const name of names) {
      if (await this.#refreshOne(name)) changed = true
    }
    return changed
  }

  /** As they decide now; a copy. */
  get policies(): TenantPolicies {
    const policies = new Map<string, PreparedPolicy | null>()
    for (const [name, { live }] of this.#tenants) policies.set(name, live?.current.policy ?? null)
    return policies
  }

  get status(): readonly TenantStatus[] {
    return [...this.#tenants].map(([tenant, { live, fault }]) => ({
      tenant,
      revision: live?.current.revision ?? null,
      ...(fault === undefined ? {} : { fault }),
    }))
  }

  /** For operators; undefined when every bundle decides. */
  get fault(): string | undefined {
    const faults = this.status.flatMap(({ tenant, fault }) =>
      fault === undefined ? [] : [`policy of tenant ${tenant}: ${fault}`],
    )
    return faults.length === 0 ? undefined : faults.join('; ')
  }

  async close(): Promise<void> {
    for (const { live } of this.#tenants.values()) await live?.close()
    this.#tenants.clear()
  }

  async #refreshOne(name: string): Promise<boolean> {
    let tenant = this.#tenants.get(name)
    const isNew = tenant === undefined
    if (tenant === undefined) {
      tenant = { source: fileSource(join(this.#dir, `${name}.tar.gz`)), live: undefined, fault: undefined }
      this.#tenants.set(name, tenant)
    }
    try {
      const bundle = await tenant.source.read()
      if (bundle === undefined) return isNew
      if (tenant.live === undefined) tenant.live = await LivePolicy.open(bundle, this.#options)
      else if ((await tenant.live.offer(bundle)) === 'rejected') throw new Error(tenant.live.status.fault)
      tenant.fault = undefined
      return true
    } catch (error) {
      tenant.fault = (error as Error).message
      return isNew
    }
  }
}
