/** The session: user, login, logout, chosen tenant, and permissions as the server reports them. */
import { computed, effect, signal } from '@preact/signals'
import { page, permissionsOf } from '../api/client.ts'
import { query, returnAddress } from './router.ts'

export interface User {
  readonly subject: string
  readonly consumer: string
  /** For people; the consumer where the token has none. */
  readonly name: string
  readonly tenant: string | null
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
}

interface SessionView {
  readonly user: User | null
  readonly csrf: string | null
  readonly planes: readonly ('control' | 'gateway')[]
  readonly gateway_url: string
  readonly version: string
  /** Beside the console, at the same server. */
  readonly has_portal: boolean
  /** For the portal; null: the console. */
  readonly site: { readonly title: string; readonly lead: string; readonly has_logo: boolean } | null
  readonly login: { readonly provider: boolean; readonly demo: readonly string[] }
}

interface Permissions {
  readonly tenant: string | null
  readonly crosses_tenants: boolean
  readonly actions: Readonly<Record<string, 'any' | 'own' | 'none'>>
}

export const session = signal<SessionView | undefined>(undefined)
/** Name of the site, for the titles of pages. */
export const siteTitle = computed(() => session.value?.site?.title ?? 'Toolgate')
export const sessionError = signal<string | undefined>(undefined)
export const user = computed(() => session.value?.user ?? undefined)
const permissions = signal<Permissions | undefined>(undefined)

export const hasControlPlane = computed(() => session.value?.planes.includes('control') === true)
export const crossesTenants = computed(() => permissions.value?.crosses_tenants === true)

/** The tenant of the filter, else that of the user; undefined: all of them, or none. */
export const tenant = computed(() => query.value.get('tenant') || (user.value?.tenant ?? undefined))
/** The tenant of the filter only. */
export const chosenTenant = computed(() => query.value.get('tenant') || undefined)

const endpoint = (path: string): URL => new URL(path, document.baseURI)

export async function loadSession(): Promise<void> {
  try {
    const response = await fetch(endpoint('session'))
    if (!response.ok) throw new Error(`The server responded with status ${response.status}.`)
    session.value = (await response.json()) as SessionView
    sessionError.value = undefined
  } catch (error) {
    sessionError.value = (error as Error).message
  }
}

/** Whether the policy allows the action on some resource of the tenant. @param own the resource belongs to the user's application */
export function may(action: string, own = false): boolean {
  const extent = permissions.value?.actions[action]
  return extent === 'any' || (own && extent === 'own')
}

/** Whether something belongs to the user's application. */
export function isOwn({ application }: { readonly application: string | null }): boolean {
  return application === user.value?.consumer
}

/** The permissions of the user in the tenant that is shown; a response for an earlier tenant or user is dropped. */
effect(() => {
  const wanted = chosenTenant.value
  if (user.value === undefined || !hasControlPlane.value) return
  let isCurrent = true
  const set = (next: Permissions | undefined): void => {
    if (isCurrent) permissions.value = next
  }
  permissionsOf<Permissions>(wanted).then(set, () => set(undefined))
  return () => {
    isCurrent = false
  }
})

export async function signInForDevelopment(client: string): Promise<void> {
  const response = await fetch(endpoint('login/demo'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client }),
  })
  if (!response.ok) {
    const body = (await response.json().catch(() => undefined)) as
      | { error?: { message?: string } }
      | undefined
    throw new Error(body?.error?.message ?? `The login failed with status ${response.status}.`)
  }
  await loadSession()
}

export function loginAddress(): string {
  return endpoint(`login?return_to=${encodeURIComponent(returnAddress())}`).href
}

/** Why the last logout failed: the user is still signed in. */
export const signOutError = signal<string | undefined>(undefined)

export async function signOut(): Promise<void> {
  signOutError.value = undefined
  try {
    const response = await fetch(endpoint('logout'), { method: 'POST' })
    if (!response.ok) throw new Error(`The server responded with status ${response.status}.`)
  } catch (error) {
    signOutError.value = (error as Error).message
    return
  }
  endSession(undefined)
}

/** Shows what a visitor sees: the login page, or the public catalog. */
export function endSession(reason: string | undefined): void {
  const current = session.value
  if (current !== undefined) session.value = { ...current, user: null, csrf: null }
  permissions.value = undefined
  sessionError.value = reason
}

effect(() => {
  page.csrf = session.value?.csrf ?? ''
})
page.onSignedOut = endSession
