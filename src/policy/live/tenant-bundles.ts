/** Loads the bundles of tenants from a folder, retries refused ones, and reports their status. `tightened.ts` combines their decisions. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PreparedPolicy } from '../engine.ts'
import { fileSource } from './file-source.ts'
import { type BundleChange, slotOfTenant } from './follower.ts'
import { LivePolicy, type LivePolicyOptions } from './live-policy.ts'
import { type BundleSource, type PendingRetry, retryAfter } from './source.ts'
import type { TenantPolicies } from './tightened.ts'

/** As the control plane names them. */
const FILE = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\.tar\.gz$/
const MAX_TENANTS = 1000

interface Tenant {
  readonly source: BundleSource
  /** undefined: no bundle of the tenant could ever be served. */
  live: LivePolicy | undefined
  fault: string | undefined
  /** The bundle that was refused, when it is tried again. */
  refused: (PendingRetry & { readonly bundle: Uint8Array }) | undefined
}

export interface TenantBundleStatus {
  readonly tenant: string
  /** null: every call of the tenant is denied. */
  readonly revision: string | null
  readonly fault?: string
  readonly attempts?: number
  /** When the bundle that was refused is tried again. */
  readonly next_attempt_at?: string
}

/** Runs `activate` once the change is prepared wherever else it decides, and activates it there. */
export type SwapTogether = (change: BundleChange, activate: () => void) => Promise<void>

export class TenantBundles {
  readonly #dir: string
  readonly #options: LivePolicyOptions
  readonly #together: SwapTogether
  readonly #tenants = new Map<string, Tenant>()

  constructor(dir: string, options: LivePolicyOptions, together: SwapTogether) {
    this.#dir = dir
    this.#options = options
    this.#together = together
  }

  /**
   * Takes up what has changed in the folder, and tries again what was refused.
   * @throws Error when the folder cannot be read or holds too many bundles; what was read before goes on deciding.
   */
  async refresh(): Promise<void> {
    const names = (await readdir(this.#dir)).flatMap(name => FILE.exec(name)?.[1] ?? [])
    if (names.length > MAX_TENANTS)
      throw new Error(
        `${this.#dir} contains bundles for ${names.length} tenants, more than the limit of ${MAX_TENANTS}`,
      )
    for (const name of [...this.#tenants.keys()].filter(known => !names.includes(known))) {
      const { live } = this.#tenants.get(name)!
      await this.#together({ slot: slotOfTenant(name), bundle: undefined }, () => this.#tenants.delete(name))
      live?.retire()
    }
    for (const name of names) await this.#refreshOne(name)
  }

  /** As they decide now; a copy. */
  get policies(): TenantPolicies {
    const policies = new Map<string, PreparedPolicy | null>()
    for (const [name, { live }] of this.#tenants) policies.set(name, live?.current.policy ?? null)
    return policies
  }

  get status(): readonly TenantBundleStatus[] {
    return [...this.#tenants].map(([tenant, { live, fault, refused }]) => ({
      tenant,
      revision: live?.current.revision ?? null,
      ...(fault === undefined ? {} : { fault }),
      ...(refused === undefined
        ? {}
        : {
            attempts: refused.attempts,
            next_attempt_at: new Date(refused.nextAttemptAt).toISOString(),
          }),
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

  async #refreshOne(name: string): Promise<void> {
    let tenant = this.#tenants.get(name)
    const isNew = tenant === undefined
    tenant ??= {
      source: fileSource(join(this.#dir, `${name}.tar.gz`)),
      live: undefined,
      fault: undefined,
      refused: undefined,
    }
    let bundle: Uint8Array | undefined
    try {
      const { refused } = tenant
      const due = refused !== undefined && Date.now() >= refused.nextAttemptAt ? refused.bundle : undefined
      bundle = (await tenant.source.read()) ?? due
      if (bundle === undefined) return
      await this.#take(name, tenant, bundle)
      tenant.fault = tenant.refused = undefined
    } catch (error) {
      tenant.fault = (error as Error).message
      if (bundle !== undefined) {
        const attempts = bundle === tenant.refused?.bundle ? tenant.refused.attempts + 1 : 1
        tenant.refused = { ...retryAfter(attempts), bundle }
      }
      // a tenant whose only bundle cannot be served is denied
      if (isNew)
        await this.#together({ slot: slotOfTenant(name), bundle: null }, () =>
          this.#tenants.set(name, tenant),
        )
    }
  }

  /** @throws Error that says why the bundle is not served */
  async #take(name: string, tenant: Tenant, bundle: Uint8Array): Promise<void> {
    const slot = slotOfTenant(name)
    if (tenant.live !== undefined) {
      if ((await tenant.live.offer(bundle)) === 'rejected') throw new Error(tenant.live.status.fault)
      return
    }
    const opened = await LivePolicy.open(bundle, {
      ...this.#options,
      together: (next, activate) => this.#together({ slot, bundle: next }, activate),
    })
    try {
      await this.#together({ slot, bundle }, () => {
        tenant.live = opened
        this.#tenants.set(name, tenant)
      })
    } catch (error) {
      await opened.close()
      throw error
    }
  }
}
