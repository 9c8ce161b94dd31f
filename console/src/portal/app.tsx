/** The shell of the portal: header, navigation, and the page of the address. Visitors see the catalog and its pages; the rest needs a login. */

import { useLayoutEffect, useRef } from 'preact/hooks'
import { Empty } from '../components/layout.tsx'
import { SignOutButton, SignOutFailure } from '../components/sign-out.tsx'
import { Login } from '../pages/login.tsx'
import { href, path, segments } from '../state/router.ts'
import { may, session, sessionError, siteTitle, user } from '../state/session.ts'
import { nextTheme, theme } from '../state/theme.ts'
import { ApiPage } from './api-page.tsx'
import { Catalog } from './catalog.tsx'
import { ProductPage } from './product-page.tsx'
import { Requests } from './requests.tsx'
import { SIGN_IN, signInHref } from './sign-in.ts'
import { Subscriptions } from './subscriptions.tsx'

export function App() {
  const main = useRef<HTMLElement>(null)
  const visited = useRef(path.value)
  // before any key of the user: a later effect would take the focus from a field that was chosen meanwhile
  useLayoutEffect(() => {
    // screen readers and the keyboard continue in the new page
    if (visited.current !== path.value) main.current?.focus({ preventScroll: true })
    visited.current = path.value
  }, [path.value])
  if (session.value === undefined)
    return (
      <div class="login">
        {sessionError.value === undefined ? (
          <p role="status">Loading…</p>
        ) : (
          <p role="alert">The portal could not load your session: {sessionError.value}</p>
        )}
      </div>
    )
  return (
    <div class="portal">
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Header />
      <SignOutFailure />
      <main ref={main} tabIndex={-1}>
        <Shown />
      </main>
      <footer class="portal-foot">{siteTitle.value}, served by Toolgate</footer>
    </div>
  )
}

function Shown() {
  // the page that a visitor left for the login follows after `sign-in`
  const isSignedIn = user.value !== undefined
  const [first = '', second] = segments.value.slice(isSignedIn && segments.value[0] === SIGN_IN ? 1 : 0)
  if (first === '' || (first === 'apis' && second === undefined)) return <Catalog />
  if (first === 'apis') return <ApiPage id={second!} />
  if (first === 'products' && second !== undefined) return <ProductPage id={second} />
  if (first === SIGN_IN) return <Login />
  if (first === 'subscriptions') return isSignedIn ? <Subscriptions /> : <Login />
  if (first === 'requests') return isSignedIn ? <Requests /> : <Login />
  return (
    <div class="page">
      <Empty title="The page does not exist">
        <a href={href('')}>Open the catalog</a>
      </Empty>
    </div>
  )
}

const THEMES = {
  system: ['◐', 'Theme: system'],
  light: ['○', 'Theme: light'],
  dark: ['●', 'Theme: dark'],
} as const

function Header() {
  const [sign, name] = THEMES[theme.value]
  const first = segments.value[0] ?? ''
  const links: readonly (readonly [to: string, title: string])[] = [
    ['', 'APIs'],
    ...(user.value === undefined ? [] : ([['subscriptions', 'Subscriptions']] as const)),
    ...(may('subscriptions.approve') ? ([['requests', 'Requests']] as const) : []),
  ]
  const current = first === 'apis' || first === 'products' ? '' : first
  return (
    <header class="portal-top">
      <a class="brand" href={href('')}>
        <img src={session.value?.site?.has_logo === true ? 'logo' : 'icon.svg'} alt="" />
        <span>{siteTitle.value}</span>
      </a>
      <nav aria-label="Pages">
        {links.map(([to, title]) => (
          <a key={to} href={href(to)} aria-current={to === current ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <div class="portal-user">
        {user.value !== undefined && (
          <div class="who">
            <b>{user.value.name}</b>
            <span class="muted">{user.value.tenant ?? 'no tenant'}</span>
          </div>
        )}
        <button type="button" class="button small" onClick={nextTheme} aria-label={name} title={name}>
          <span aria-hidden="true">{sign}</span>
        </button>
        {user.value === undefined && first !== SIGN_IN && (
          <a class="button small primary" href={signInHref()}>
            Sign in
          </a>
        )}
        {user.value !== undefined && <SignOutButton />}
      </div>
    </header>
  )
}
