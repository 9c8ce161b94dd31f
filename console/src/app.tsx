/** The shell: login, or navigation, top bar and the page of the address. */

import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { controlAll } from './api/client.ts'
import { useResource } from './api/resource.ts'
import type { Tenant } from './api/types.ts'
import { Empty } from './components/layout.tsx'
import { Shortcuts, showShortcuts } from './components/shortcuts.tsx'
import { SignOutButton, SignOutFailure } from './components/sign-out.tsx'
import { PAGES } from './pages/index.ts'
import { Login } from './pages/login.tsx'
import { href, path, segments, setQuery } from './state/router.ts'
import {
  chosenTenant,
  crossesTenants,
  hasControlPlane,
  session,
  sessionError,
  user,
} from './state/session.ts'
import { nextTheme, theme } from './state/theme.ts'

export function App() {
  if (session.value === undefined) {
    return (
      <div class="login">
        {sessionError.value === undefined ? (
          <p role="status">Loading…</p>
        ) : (
          <p role="alert">The console could not load your session: {sessionError.value}</p>
        )}
      </div>
    )
  }
  return user.value === undefined ? <Login /> : <Shell />
}

function Shell() {
  const pages = PAGES.filter(page => page.needsControlPlane !== true || hasControlPlane.value)
  const first = segments.value[0] ?? ''
  const page = first === '' ? pages[0] : pages.find(each => each.path === first)
  const isMenuOpen = useSignal(false)
  const main = useRef<HTMLElement>(null)
  const visited = useRef(path.value)
  // before any key of the user: a later effect would take the focus from a field that was chosen meanwhile
  useLayoutEffect(() => {
    isMenuOpen.value = false
    // screen readers and the keyboard continue in the new page
    if (visited.current !== path.value) main.current?.focus({ preventScroll: true })
    visited.current = path.value
  }, [path.value])
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <aside class="side" id="menu" data-open={isMenuOpen.value}>
        <a class="brand" href={href('')}>
          <img src="icon.svg" alt="" width="24" height="24" />
          Toolgate
        </a>
        <nav aria-label="Pages">
          {pages.map(({ path: to, title, key }) => (
            <a key={to} href={href(to)} aria-current={page?.path === to ? 'page' : undefined}>
              {title}
              <span class="kbd" aria-hidden="true">
                g {key}
              </span>
            </a>
          ))}
        </nav>
        <div class="side-end">
          <p>{session.value?.version}</p>
          <button type="button" class="button small" onClick={showShortcuts}>
            Shortcuts{' '}
            <span class="kbd" aria-hidden="true">
              ?
            </span>
          </button>
        </div>
      </aside>
      <div>
        <Top
          onMenu={() => {
            isMenuOpen.value = !isMenuOpen.value
          }}
          isMenuOpen={isMenuOpen.value}
        />
        <SignOutFailure />
        <main id="main" ref={main} tabIndex={-1}>
          {page === undefined ? (
            <div class="page">
              <Empty title="The page does not exist">
                <a href={href('')}>Open the start page</a>
              </Empty>
            </div>
          ) : (
            <page.component />
          )}
        </main>
      </div>
      <Shortcuts pages={pages} />
    </div>
  )
}

const THEME_SIGNS = { system: '◐', light: '○', dark: '●' } as const
const THEME_NAMES = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' } as const

function Top({ onMenu, isMenuOpen }: { readonly onMenu: () => void; readonly isMenuOpen: boolean }) {
  const { name, tenant, roles } = user.value!
  return (
    <header class="top">
      <button
        type="button"
        class="button menu-button"
        aria-expanded={isMenuOpen}
        aria-controls="menu"
        onClick={onMenu}
      >
        Menu
      </button>
      {crossesTenants.value && <TenantFilter />}
      <div class="grow" />
      <button
        type="button"
        class="button small"
        onClick={nextTheme}
        aria-label={THEME_NAMES[theme.value]}
        title={THEME_NAMES[theme.value]}
      >
        <span aria-hidden="true">{THEME_SIGNS[theme.value]}</span>
      </button>
      <div class="who">
        <b>{name}</b>
        <span class="muted">{[tenant ?? 'no tenant', ...roles].join(' · ')}</span>
      </div>
      <SignOutButton />
    </header>
  )
}

/** Only for users who may act for every tenant. */
function TenantFilter() {
  const tenants = useResource(() => controlAll<Tenant>('tenants'), [user.value?.subject])
  const names = tenants.value.value?.items.map(({ name }) => name) ?? []
  const chosen = chosenTenant.value ?? ''
  return (
    <div class="field inline">
      <label for="tenant">Tenant</label>
      <select
        id="tenant"
        value={chosen}
        onChange={event => setQuery({ tenant: event.currentTarget.value, page: '' })}
      >
        <option value="">All</option>
        {[...new Set([...names, ...(chosen === '' ? [] : [chosen])])].map(name => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}
