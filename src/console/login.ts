/** Login, renewal and logout of sessions. `oauth-client.ts` requests the tokens. */
import { LoginFailure, type OAuthClient } from './oauth-client.ts'
import { PRIVATE, problem } from './problem.ts'
import { lastEnd, newSession, type Session, type SessionCookies } from './session.ts'
import { endMark, renewalMark, type SessionMarks } from './session-marks.ts'
import type { TokenRevocation } from './token-revocation.ts'

/** A client of the embedded provider, for development. */
export interface DemoClient {
  readonly id: string
  readonly secret: string
}

/** Hears what happens to sessions. @param error why it is refused; undefined: it is done */
export type ReportSession = (
  event: 'login' | 'logout' | 'foreign_page',
  request: Request,
  error?: string,
) => void

export interface LoginParts {
  readonly oauth: OAuthClient
  readonly cookies: SessionCookies
  readonly marks: SessionMarks
  readonly revocation: TokenRevocation
  readonly onSession: ReportSession
  /** Empty unless the embedded provider runs. */
  readonly demoClients: readonly DemoClient[]
  /** Path of the page, such as `/console`. */
  readonly root: string
  readonly now: () => number
}

/** Where the browser sees the page. */
export interface PublicAddress {
  /** Without the root of the page and trailing slash. */
  readonly base: string
  readonly secure: boolean
}

/** An address below the root, and nothing that a browser could take for another origin. */
const RETURN_TO = /^[a-z0-9-]+(?:\/[\w.~%-]+)*(?:\?[\w.~%&=+:,*-]*)?$/

const UNKNOWN_CLIENT = /^(?:invalid|unauthorized)_client$/

/** Attempts to refresh begin before the expiry, so that a request in flight still has a valid token. */
const REFRESH_BEFORE_MS = 20_000
/** A person who was suspended at the provider, or has another role there, is that here within a minute, however long tokens live. */
const MAX_TOKEN_AGE_MS = 45_000
/** For one instance to renew a session, before another one does it. */
const RENEWAL_MS = 10_000

export class Login {
  readonly #parts: LoginParts

  constructor(parts: LoginParts) {
    this.#parts = parts
  }

  /** GET login?return_to=: to the login page of the provider. */
  async begin(request: Request, { base, secure }: PublicAddress): Promise<Response> {
    const { oauth, cookies, root, now } = this.#parts
    // the browser does not send the cookie of a session with the return from another site
    const replaces = cookies.read(request, secure)?.id
    const redirectUri = `${base}${root}/callback`
    const wanted = new URL(request.url).searchParams.get('return_to') ?? ''
    const returnTo = RETURN_TO.test(wanted) ? wanted : ''
    try {
      const client = await oauth.client(redirectUri)
      const { url, verifier, state } = await oauth.authorization(client, redirectUri)
      const pending = { state, verifier, client, redirectUri, returnTo, replaces, startedAtMs: now() }
      return redirect(url, cookies.writeLogin(pending, request, secure))
    } catch (error) {
      return this.#fail(request, error, base + root)
    }
  }

  /** GET callback: the return from the provider. */
  async complete(request: Request, { base, secure }: PublicAddress): Promise<Response> {
    const { oauth, cookies, marks, onSession, root, now } = this.#parts
    const query = new URL(request.url).searchParams
    const pending = cookies.readLogin(request, secure)
    if (pending === undefined || query.get('state') !== pending.state)
      return this.#fail(
        request,
        new LoginFailure('The login took too long, or was started in another browser. Sign in again.'),
        base + root,
      )
    try {
      const { client, returnTo, replaces } = pending
      const tokens = await oauth.exchange(pending, query)
      const session = newSession(tokens, client, false, now())
      if (replaces !== undefined) await marks.put(endMark({ id: replaces }), lastEnd(session))
      const set = [
        ...cookies.write(session, request, secure),
        ...cookies.writeLogin(undefined, request, secure),
      ]
      onSession('login', request)
      return redirect(`${base}${root}/${returnTo}`, set)
    } catch (error) {
      // anyone can return with a wrong code or an error, which must not register a client at the provider each time
      if (error instanceof LoginFailure && UNKNOWN_CLIENT.test(error.code ?? ''))
        oauth.dropClient(pending.redirectUri)
      return this.#fail(request, error, base + root)
    }
  }

  /** POST login/demo {"client"}: only for the clients of the embedded provider. */
  async demo(request: Request, address: PublicAddress): Promise<Response> {
    const { oauth, cookies, demoClients, onSession, now } = this.#parts
    const body = (await request.json().catch(() => undefined)) as { client?: unknown } | undefined
    const client = demoClients.find(({ id }) => id === body?.client)
    if (client === undefined)
      return problem(
        'not_found',
        'The client does not exist. Use a demo client of the embedded identity provider.',
      )
    try {
      const tokens = await oauth.clientCredentials(client.id, client.secret)
      const session = newSession(tokens, client.id, true, now())
      await this.end(request, address)
      onSession('login', request)
      return withCookies(204, cookies.write(session, request, address.secure))
    } catch (error) {
      if (!(error instanceof LoginFailure)) throw error
      onSession('login', request, error.message)
      return problem('unavailable', error.message)
    }
  }

  /**
   * Ends the session of the request for all copies of it, also while the provider is unavailable.
   * @returns cookies that remove it from the browser
   * @throws SessionsUnavailable
   */
  async end(request: Request, { secure }: PublicAddress): Promise<string[]> {
    const { cookies, marks, revocation, onSession } = this.#parts
    const session = cookies.read(request, secure)
    if (session !== undefined && (await marks.put(endMark(session), lastEnd(session)))) {
      onSession('logout', request)
      if (session.refreshToken !== undefined) void revocation.revoke(session.client, session.refreshToken)
    }
    return cookies.write(undefined, request, secure)
  }

  /** @throws SessionsUnavailable */
  hasEnded(session: Pick<Session, 'id'>): Promise<boolean> {
    return this.#parts.marks.has(endMark(session))
  }

  /**
   * The session with a token that is valid for a while; undefined when it was ended, or the provider gives none any more.
   * @throws LoginFailure while the provider is unavailable and the token has expired
   * @throws SessionsUnavailable
   */
  async renewSession(session: Session): Promise<Session | undefined> {
    const { oauth, demoClients, now, marks } = this.#parts
    if (await this.hasEnded(session)) return undefined
    const nowMs = now()
    const isValid = nowMs < session.expiresAtMs - REFRESH_BEFORE_MS
    if (isValid && nowMs < session.renewedAtMs + MAX_TOKEN_AGE_MS) return session
    const { client, demo, refreshToken } = session
    const secret = demo ? demoClients.find(({ id }) => id === client)?.secret : undefined
    if (secret === undefined && refreshToken === undefined) return isValid ? session : undefined
    // a provider that rotates refresh tokens ends the login when two instances use the same one
    const isShared = refreshToken !== undefined && oauth.isRefreshed(refreshToken)
    const claim = (): Promise<boolean> =>
      // a store that is full refuses marks, and still knows which sessions have ended
      marks.put(renewalMark(session), nowMs + RENEWAL_MS).catch(() => true)
    if (isValid && !isShared && !(await claim())) return session
    try {
      const tokens =
        secret === undefined
          ? await oauth.refresh(client, refreshToken!)
          : await oauth.clientCredentials(client, secret)
      return { ...session, ...tokens, renewedAtMs: now() }
    } catch (error) {
      if (!(error instanceof LoginFailure)) throw error
      if (!error.isTransient) {
        // another request would go on with the token that is still valid
        if (isValid) await marks.put(endMark(session), lastEnd(session))
        return undefined
      }
      if (now() < session.expiresAtMs) return session
      throw error
    }
  }

  /** Back to the page, which shows the message. */
  #fail(request: Request, error: unknown, address: string): Response {
    if (!(error instanceof LoginFailure)) throw error
    this.#parts.onSession('login', request, error.message)
    return redirect(`${address}/?login_error=${encodeURIComponent(error.message.slice(0, 300))}`, [])
  }
}

function redirect(location: string, cookies: readonly string[]): Response {
  return withCookies(303, cookies, { location })
}

export function withCookies(
  status: number,
  cookies: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Response {
  const headers = new Headers({ ...PRIVATE, ...more })
  for (const cookie of cookies) headers.append('set-cookie', cookie)
  return new Response(null, { status, headers })
}
