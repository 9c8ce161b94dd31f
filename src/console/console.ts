/** Serves the console or the portal: files, login, session and requests to the planes. `forward.ts` sends these requests. */

import type { Sealer } from '../base/secrets/sealer.ts'
import type { TokenVerifier } from '../identity/verifier.ts'
import { asUser, type Principal } from '../model/principal.ts'
import { ConsoleFiles } from './files.ts'
import {
  bearer,
  type ControlPlaneHandler,
  endWithSession,
  forwardToControlPlane,
  forwardToGateway,
} from './forward.ts'
import { type DemoClient, Login, type PublicAddress, type ReportSession, withCookies } from './login.ts'
import { LoginFailure, OAuthClient, type OAuthClientOptions } from './oauth-client.ts'
import { mayUse, themeFile, tryApi } from './portal.ts'
import { PRIVATE, problem } from './problem.ts'
import { hasCsrfToken, type Session, SessionCookies, type SessionPlane } from './session.ts'
import { checkedMarks, type SessionMarks, SessionsUnavailable } from './session-marks.ts'
import type { Theme } from './theme.ts'
import { type ReportUnrevoked, TokenRevocation } from './token-revocation.ts'

export interface ConsoleOptions extends OAuthClientOptions {
  readonly sealer: Sealer
  readonly marks: SessionMarks
  readonly onUnrevoked: ReportUnrevoked
  readonly onSession: ReportSession
  readonly verifier: TokenVerifier
  /** Public address of this listener, when it is configured. */
  readonly publicUrl: string | undefined
  /** For the gateway's OAuth front; false: no provider is configured. */
  readonly hasProvider: boolean
  readonly demoClients: readonly DemoClient[]
  readonly version: string
  /** Serves the portal with this look at `/portal`, instead of the console at `/console`. */
  readonly portal?: Theme
  /** Whether the listener also serves the portal, to which the login page of the console then leads. */
  readonly besidePortal?: boolean
  /** Absent where this process has no control plane. */
  readonly controlPlane?: ConsoleControlPlane
  readonly onFault: (error: unknown) => void
}

export interface ConsoleControlPlane {
  /** For the user of the page. */
  readonly fetch: ControlPlaneHandler
  /** What the policy allows the caller of this request, by action. @throws Error when the policy cannot decide */
  permissions(request: Request): Promise<Response>
}

export interface Console {
  /** Whether the path, without query, is below the root. */
  serves(path: string): boolean
  fetch(request: Request): Promise<Response>
}

/** Pages have plain names; everything else below the root is a file or an endpoint. */
const PAGE = /^(?:[a-z0-9-]+(?:\/[\w.~%-]+){0,3})?$/
/** What the console may use of the gateway. */
const GATEWAY_PATH = /^\/(?:admin\/|mcp(?:\/|$)|ready$)/
/** Drafts of policies in the tab; what the page requests is kept nowhere. */
const CLEARED = { 'clear-site-data': '"storage"' }
const FOREIGN_PAGE = 'The request does not come from a page of this server.'
const TITLE = /<title>[^<]*<\/title>/

export function createConsole(options: ConsoleOptions): Console {
  const { sealer, now, egress, gatewayAddress, controlPlane, portal, onSession, demoClients } = options
  const root = portal === undefined ? '/console' : '/portal'
  const files =
    portal === undefined
      ? new ConsoleFiles('index.html')
      : new ConsoleFiles('portal.html', html =>
          html.replace(TITLE, () => `<title>${escapeHtml(portal.title)}</title>`),
        )
  const plane: SessionPlane = controlPlane === undefined ? 'gateway' : 'control'
  const cookies = new SessionCookies(sealer, now, plane)
  const oauth = new OAuthClient(options)
  const marks = checkedMarks(options.marks)
  const revocation = new TokenRevocation(oauth, options.onUnrevoked)
  const login = new Login({ oauth, cookies, marks, revocation, onSession, demoClients, root, now })

  async function respond(request: Request, url: URL): Promise<Response> {
    const address = addressOf(options.publicUrl, url)
    const path = url.pathname.slice(root.length + 1)
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (path.startsWith('api/')) return forward(request, url, path.slice('api/'.length), address)
    if (path === 'session' && isRead) return describe(request, address)
    if (path === 'login' && isRead) {
      // the cookie of the login must have the origin to which the provider returns
      if (new URL(address.base).host !== url.host)
        return withCookies(303, [], { location: `${address.base}${root}/login${url.search}` })
      return login.begin(request, address)
    }
    if (path === 'callback' && isRead) return login.complete(request, address)
    if (path === 'login/demo' || path === 'logout') {
      if (request.method !== 'POST') return problem('method_not_allowed', 'Use POST.')
      if (!isOwnPage(request, url, address)) return foreignPage(request)
      return path === 'logout'
        ? withCookies(204, await login.end(request, address), CLEARED)
        : login.demo(request, address)
    }
    if (!isRead) return problem('method_not_allowed', 'Use GET for pages and files.')
    const asset = (portal && themeFile(portal, path)) ?? files.asset(path, request)
    if (asset !== undefined) return asset
    if (!PAGE.test(path) || path.startsWith('assets/'))
      return problem('not_found', 'The page does not exist.')
    return files.page(path.split('/').length, request)
  }

  function foreignPage(request: Request): Response {
    onSession('foreign_page', request, FOREIGN_PAGE)
    return problem('foreign_page', `${FOREIGN_PAGE} Reload the page, and repeat the request.`)
  }

  async function forward(
    request: Request,
    url: URL,
    path: string,
    address: PublicAddress,
  ): Promise<Response> {
    const session = cookies.read(request, address.secure)
    if (session === undefined) return signedOut()
    const isTrial = path.startsWith('try/')
    if (isTrial || (request.method !== 'GET' && request.method !== 'HEAD')) {
      if (!isOwnPage(request, url, address) || !hasCsrfToken(request, session)) return foreignPage(request)
    }
    const valid = await login.renewSession(session)
    if (valid === undefined) return signedOut()
    const sent = await send(request, path, url.search, valid.accessToken)
    const response = endWithSession(sent, () => login.hasEnded(valid))
    if (valid !== session)
      for (const cookie of cookies.write(valid, request, address.secure))
        response.headers.append('set-cookie', cookie)
    return response
  }

  function send(request: Request, path: string, search: string, token: string): Promise<Response> | Response {
    const rest = path.slice(path.indexOf('/'))
    if (portal !== undefined && path.startsWith('try/'))
      return tryApi(egress, gatewayAddress, rest + search, request)
    if (portal === undefined && path.startsWith('gateway/') && GATEWAY_PATH.test(rest))
      return forwardToGateway(egress, gatewayAddress + rest + search, request, bearer(token))
    if (controlPlane !== undefined && path === 'permissions')
      return forwardToControlPlane(asked => controlPlane.permissions(asked), '/', request, bearer(token))
    const isOpen = path.startsWith('control/v1/') && (portal === undefined || mayUse(rest))
    if (controlPlane !== undefined && isOpen)
      return forwardToControlPlane(controlPlane.fetch, rest + search, request, bearer(token))
    return problem('not_found', 'The endpoint does not exist.')
  }

  /** GET session: who is signed in, and what this page can show. Public: without a session it names no user. */
  async function describe(request: Request, address: PublicAddress): Promise<Response> {
    const session = cookies.read(request, address.secure)
    const valid = session && (await login.renewSession(session))
    const user = valid && (await userOf(valid))
    const body = {
      user: user ?? null,
      csrf: user === undefined ? null : valid!.csrf,
      planes: controlPlane === undefined ? ['gateway'] : ['control', 'gateway'],
      gateway_url: options.gatewayUrl,
      version: options.version,
      has_portal: options.besidePortal ?? false,
      site:
        portal === undefined
          ? null
          : { title: portal.title, lead: portal.lead, has_logo: portal.logo !== undefined },
      login: { provider: options.hasProvider, demo: demoClients.map(({ id }) => id) },
    }
    const headers = new Headers(PRIVATE)
    if (valid !== undefined && valid !== session)
      for (const cookie of cookies.write(valid, request, address.secure)) headers.append('set-cookie', cookie)
    return Response.json(body, { headers })
  }

  async function userOf({ accessToken }: Session): Promise<object | undefined> {
    const verified: Principal | { readonly kind: 'refusal' } = await options.verifier.verify(
      accessToken,
      now(),
    )
    if (verified.kind === 'refusal') return undefined
    // as the control plane sees requests of the page
    const { subject, consumer, name, tenant, roles, scopes } =
      controlPlane === undefined ? verified : asUser(verified)
    return { subject, consumer, name: name ?? consumer, tenant: tenant ?? null, roles, scopes }
  }

  return {
    serves: path => path === root || path.startsWith(`${root}/`),
    async fetch(request) {
      const url = new URL(request.url)
      if (url.pathname === root) return withCookies(308, [], { location: `${root.slice(1)}/${url.search}` })
      try {
        return await respond(request, url)
      } catch (error) {
        if (error instanceof LoginFailure) return problem('unavailable', error.message)
        if (error instanceof SessionsUnavailable) {
          options.onFault(error)
          return problem(
            'sessions_unavailable',
            'Whether the session has ended is not known, because the store of ended sessions is unavailable. Retry later.',
          )
        }
        throw error
      }
    },
  }
}

function addressOf(publicUrl: string | undefined, { origin }: URL): PublicAddress {
  const base = (publicUrl ?? origin).replace(/\/+$/, '')
  return { base, secure: base.startsWith('https:') }
}

/** Whether a page of this origin sent the request; browsers say so in two headers, and other clients in none. */
function isOwnPage(request: Request, url: URL, { base }: PublicAddress): boolean {
  const site = request.headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = request.headers.get('origin')
  return origin === null || origin === url.origin || origin === new URL(base).origin
}

function signedOut(): Response {
  return problem('signed_out', 'You are not signed in, or the session has ended. Sign in again.')
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
