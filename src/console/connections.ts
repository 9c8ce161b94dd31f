/** Serves the page at `/connections` of a gateway, on which users sign in, and connect and disconnect tool sets. It does not store the tokens of tool sets. */

import type { Sealer } from '../base/secrets/sealer.ts'
import type { TokenVerifier } from '../identity/verifier.ts'
import type { Principal } from '../model/principal.ts'
import type { Authorization, ReturnedGrant } from '../net/egress/oauth/authorization-request.ts'
import { type Connectable, connectionsPage, waitPage } from './connections-page.ts'
import { Login, type ReportSession } from './login.ts'
import { LoginFailure, OAuthClient, type OAuthClientOptions } from './oauth-client.ts'
import { PRIVATE } from './problem.ts'
import { isCsrfToken, type PendingConnection, type Session, SessionCookies } from './session.ts'
import { checkedMarks, type SessionMarks } from './session-marks.ts'
import { type ReportUnrevoked, TokenRevocation } from './token-revocation.ts'

/** The tool sets that need a connection of the user, and what the page may do about them. */
export interface ConnectionBook {
  /** List of one user, in the order of their names. @throws Error when the store is unavailable */
  list(principal: Principal): Promise<readonly Omit<Connectable, 'redirectUri'>[]>
  /** Where the user consents; undefined: the user has no tool set of this id that needs a connection. */
  begin(principal: Principal, id: string, redirectUri: string): Authorization | undefined
  /** @returns why it is not connected. @throws Error when the store is unavailable */
  complete(principal: Principal, id: string, grant: ReturnedGrant): Promise<string | undefined>
  /** @throws Error when the store is unavailable */
  disconnect(principal: Principal, id: string): Promise<void>
}

export interface ConnectionsOptions extends OAuthClientOptions {
  readonly sealer: Sealer
  readonly marks: SessionMarks
  readonly onUnrevoked: ReportUnrevoked
  readonly onSession: ReportSession
  readonly verifier: TokenVerifier
  readonly book: ConnectionBook
  /** Public address under which the page is served, without trailing slash. */
  readonly pagesUrl: string
  readonly onFault: (error: unknown) => void
}

export const CONNECTIONS_ROOT = '/connections'

const MAX_FORM_CHARS = 4_096

interface SignedIn {
  readonly session: Session
  readonly principal: Principal
}

export function createConnections(options: ConnectionsOptions): (request: Request) => Promise<Response> {
  const { sealer, now, book, onSession, pagesUrl: base } = options
  const secure = base.startsWith('https:')
  const address = { base, secure }
  const home = `${base}${CONNECTIONS_ROOT}/`
  /** Each tool set has its own: a server that sends users to another one does not get the codes of that one (RFC 9700 §4.4.2). */
  const redirectUriOf = (id: string): string => home + returnPath(id)
  const cookies = new SessionCookies(sealer, now, 'gateway')
  const oauth = new OAuthClient(options)
  const marks = checkedMarks(options.marks)
  const revocation = new TokenRevocation(oauth, options.onUnrevoked)
  const parts = { oauth, cookies, marks, revocation, onSession, demoClients: [], now }
  const login = new Login({ ...parts, root: CONNECTIONS_ROOT })

  /** The response for the user of the session. A renewed session is set as cookies on errors too, because its previous refresh token has been used. */
  async function forUser(
    request: Request,
    respondTo: (user: SignedIn | undefined) => Promise<Response>,
  ): Promise<Response> {
    const session = cookies.read(request, secure)
    const valid = session && (await login.renewSession(session))
    if (valid === undefined) return respondTo(undefined)
    const set = valid === session ? [] : cookies.write(valid, request, secure)
    const response = await orFault(async () => {
      const principal = await options.verifier.verify(valid.accessToken, now())
      if (principal.kind === 'refusal') return respondTo(undefined)
      return respondTo({ session: valid, principal: principal as Principal })
    })
    return withCookies(response, set)
  }

  async function show(request: Request, user: SignedIn | undefined): Promise<Response> {
    const wanted = new URL(request.url).searchParams.get('tool_set') ?? ''
    if (user === undefined) return html(connectionsPage({ root: home, wanted }), 200)
    const list = (await book.list(user.principal)).map(each => ({
      ...each,
      redirectUri: redirectUriOf(each.id),
    }))
    const { csrf } = user.session
    const shown = { root: home, wanted, user: { name: user.principal.subject, csrf, list } }
    return html(connectionsPage(shown), 200)
  }

  async function change(request: Request, path: string, user: SignedIn | undefined): Promise<Response> {
    const form = new URLSearchParams((await request.text()).slice(0, MAX_FORM_CHARS))
    if (user === undefined) return say('Your session has ended. Sign in again.', 401)
    if (!isCsrfToken(form.get('csrf') ?? '', user.session)) return foreignPage(request)
    const id = form.get('id') ?? ''
    if (path === 'disconnect') {
      await book.disconnect(user.principal, id)
      return redirect(home)
    }
    const begun = book.begin(user.principal, id, redirectUriOf(id))
    if (begun === undefined) return say('This tool set needs no connection, or does not exist.', 404)
    const { url, ...expected } = begun
    const pending: PendingConnection = {
      id,
      ...expected,
      startedAtMs: now(),
      principal: user.principal,
      session: { id: user.session.id },
    }
    return redirect(url, cookies.writeConnection(pending, request, secure))
  }

  /** The session cookie is not sent with a redirect from another site: the cookie of the request says for whom it was begun. */
  async function complete(request: Request, path: string): Promise<Response> {
    const query = new URL(request.url).searchParams
    const pending = cookies.readConnection(request, secure)
    if (pending === undefined || query.get('state') !== pending.state)
      return say('The connection took too long, or was started in another browser. Try again.', 400)
    if (path !== returnPath(pending.id))
      return say(
        `The authorization server of another tool set sent you back than the one that you began to connect, whose redirect address is ${redirectUriOf(pending.id)}.`,
        400,
      )
    if (await login.hasEnded(pending.session)) return say('Your session has ended. Sign in again.', 401)
    const done = cookies.writeConnection(undefined, request, secure)
    const error = query.get('error')
    if (error !== null)
      return html(
        waitPage(home, { failed: `The authorization server did not grant access: ${error.slice(0, 100)}.` }),
        200,
        done,
      )
    const { id, verifier, key, principal } = pending
    const grant = {
      code: query.get('code') ?? '',
      issuer: query.get('iss') ?? undefined,
      verifier,
      key,
      redirectUri: redirectUriOf(id),
    }
    const failed = await book.complete(principal, id, grant)
    return html(
      waitPage(home, failed === undefined ? { done: 'The tool set is connected.' } : { failed }),
      200,
      done,
    )
  }

  function say(failed: string, status: number): Response {
    return html(waitPage(home, { failed }), status)
  }

  function foreignPage(request: Request): Response {
    const error = 'The request does not come from the connections page of your session.'
    onSession('foreign_page', request, error)
    return say(`${error} Open that page again.`, 403)
  }

  async function respond(request: Request, url: URL): Promise<Response> {
    const path = url.pathname.slice(CONNECTIONS_ROOT.length + 1)
    if (request.method === 'POST') {
      if (!isOwnForm(request, base)) return foreignPage(request)
      if (path === 'logout') return redirect(home, await login.end(request, address))
      return path === 'connect' || path === 'disconnect'
        ? forUser(request, user => change(request, path, user))
        : say('The page does not exist.', 404)
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') return say('Use GET or POST.', 405)
    if (path === 'login') return login.begin(request, address)
    if (path === 'return')
      return say(
        `The redirect address ${home}return is not used any more. Register the address that the page of connections names for each tool set, below ${home}return/, at its authorization server.`,
        400,
      )
    if (path.startsWith('return/')) return complete(request, path)
    if (path === '' || path === 'list') return forUser(request, user => show(request, user))
    if (path !== 'callback') return say('The page does not exist.', 404)
    const response = await login.complete(request, address)
    const failed = new URL(response.headers.get('location') ?? home).searchParams.get('login_error')
    const message = failed === null ? { done: 'You are signed in.' } : { failed }
    // a page of this origin asks for the next one, so that the browser sends the cookie of the session
    return html(
      waitPage(response.headers.get('location') ?? home, message),
      200,
      response.headers.getSetCookie(),
    )
  }

  async function orFault(work: () => Promise<Response>): Promise<Response> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof LoginFailure) return say(error.message, 502)
      options.onFault(error)
      return say('The connections of tool sets are unavailable. Try again later.', 503)
    }
  }

  return request => orFault(() => respond(request, new URL(request.url)))
}

/** Below the page; the id has a namespace and a name. */
function returnPath(id: string): string {
  return `return/${id.split('/').map(encodeURIComponent).join('/')}`
}

/** Browsers name the origin of a form. */
function isOwnForm(request: Request, base: string): boolean {
  const site = request.headers.get('sec-fetch-site')
  const origin = request.headers.get('origin')
  return (site === null || site === 'same-origin') && (origin === null || origin === new URL(base).origin)
}

const HTML = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // not no-referrer: forms of the page would have the origin null
  'referrer-policy': 'same-origin',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
}

function html(body: string, status: number, set: readonly string[] = []): Response {
  return withCookies(new Response(body, { status, headers: HTML }), set)
}

function redirect(location: string, set: readonly string[] = []): Response {
  return withCookies(new Response(null, { status: 303, headers: { location, ...PRIVATE } }), set)
}

function withCookies(response: Response, set: readonly string[]): Response {
  for (const cookie of set) response.headers.append('set-cookie', cookie)
  return response
}
