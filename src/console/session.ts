/** Sessions, pending logins and pending connections in encrypted cookies, and the CSRF token of a session. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Sealer } from '../base/secrets/sealer.ts'
import type { Principal } from '../model/principal.ts'
import { LoginFailure, type Tokens } from './oauth-client.ts'

/** After the login. */
const MAX_SESSION_MS = 8 * 3600_000
/** After the access token has expired without a request. */
const MAX_IDLE_MS = 3600_000
/** For a pending login or connection. */
const MAX_LOGIN_MS = 10 * 60_000
/** Browsers accept 4,096 bytes for a cookie, its name and attributes included. */
const PIECE_CHARS = 3_600
const MAX_PIECES = 3

export interface Session extends Tokens {
  /** The same for all copies and renewals of the session. */
  readonly id: string
  /** OAuth client that signed in. */
  readonly client: string
  /** True: the client is a development client with a secret, and its token is requested again instead of refreshed. */
  readonly demo: boolean
  readonly csrf: string
  readonly startedAtMs: number
  /** When its token was requested. */
  readonly renewedAtMs: number
}

/** A login between the redirect to the provider and the return. */
export interface PendingLogin {
  readonly state: string
  readonly verifier: string
  readonly client: string
  readonly redirectUri: string
  /** Below the root of the page. */
  readonly returnTo: string
  /** Id of the session that ends with this login. */
  readonly replaces: string | undefined
  readonly startedAtMs: number
}

/** A connection of a tool set between the redirect to its authorization server and the return. */
export interface PendingConnection {
  readonly id: string
  readonly state: string
  readonly verifier: string
  readonly key: string
  /** Who began it, in which session. */
  readonly principal: Principal
  readonly session: Pick<Session, 'id'>
  readonly startedAtMs: number
}

export function newSession(tokens: Tokens, client: string, demo: boolean, nowMs: number): Session {
  const [id, csrf] = [randomBytes(18).toString('base64url'), randomBytes(18).toString('base64url')]
  return { ...tokens, id, client, demo, csrf, startedAtMs: nowMs, renewedAtMs: nowMs }
}

/** Unix ms; no copy of the session is accepted after it. */
export function lastEnd({ startedAtMs }: Session): number {
  return startedAtMs + MAX_SESSION_MS
}

export type SessionPlane = 'control' | 'gateway'

export class SessionCookies {
  readonly #sealer: Sealer
  readonly #now: () => number
  readonly #plane: SessionPlane

  /** @param plane its sessions are not those of the other one, also where both have one key: each knows which of its sessions have ended */
  constructor(sealer: Sealer, now: () => number, plane: SessionPlane) {
    this.#sealer = sealer
    this.#now = now
    this.#plane = plane
  }

  /** The session of the request; undefined when there is none, or it has ended. */
  read(request: Request, secure: boolean): Session | undefined {
    const session = this.#open<Session>(request, this.#nameOf('session', request, secure))
    const nowMs = this.#now()
    // one of a version before has no id, so that nothing could end it
    if (session?.id === undefined || nowMs > lastEnd(session)) return undefined
    return nowMs > session.expiresAtMs + MAX_IDLE_MS ? undefined : session
  }

  readLogin(request: Request, secure: boolean): PendingLogin | undefined {
    const login = this.#open<PendingLogin>(request, this.#nameOf('login', request, secure))
    return login === undefined || this.#now() > login.startedAtMs + MAX_LOGIN_MS ? undefined : login
  }

  /** `Set-Cookie` values. @throws LoginFailure when the tokens are too long for cookies */
  write(session: Session | undefined, request: Request, secure: boolean): string[] {
    return this.#set(this.#nameOf('session', request, secure), session, 'Strict', secure, MAX_SESSION_MS)
  }

  /** Lax: the provider sends the browser back from another site. */
  writeLogin(login: PendingLogin | undefined, request: Request, secure: boolean): string[] {
    return this.#set(this.#nameOf('login', request, secure), login, 'Lax', secure, MAX_LOGIN_MS)
  }

  readConnection(request: Request, secure: boolean): PendingConnection | undefined {
    const pending = this.#open<PendingConnection>(request, this.#nameOf('connect', request, secure))
    return pending === undefined || this.#now() > pending.startedAtMs + MAX_LOGIN_MS ? undefined : pending
  }

  /** Lax: the authorization server sends the browser back from another site. */
  writeConnection(pending: PendingConnection | undefined, request: Request, secure: boolean): string[] {
    return this.#set(this.#nameOf('connect', request, secure), pending, 'Lax', secure, MAX_LOGIN_MS)
  }

  /** Cookies do not distinguish ports, so the name does without TLS: planes on one machine have separate sessions. */
  #nameOf(kind: 'session' | 'login' | 'connect', request: Request, secure: boolean): string {
    const name = `toolgate-${this.#plane === 'gateway' ? 'gateway-' : ''}${kind}`
    return secure ? `__Host-${name}` : `${name}-${new URL(request.url).port || '80'}`
  }

  #open<T>(request: Request, name: string): T | undefined {
    const cookies = cookiesOf(request)
    const pieces: string[] = []
    for (let at = 0; at < MAX_PIECES; at++) {
      const piece = cookies.get(`${name}.${at}`)
      if (piece === undefined) break
      pieces.push(piece)
    }
    if (pieces.length === 0) return undefined
    try {
      return JSON.parse(this.#sealer.open(pieces.join(''), name)) as T
    } catch {
      // changed, or sealed with another key
      return undefined
    }
  }

  #set(name: string, value: object | undefined, sameSite: string, secure: boolean, maxMs: number): string[] {
    const text = value === undefined ? '' : this.#sealer.seal(JSON.stringify(value), name)
    if (text.length > PIECE_CHARS * MAX_PIECES)
      throw new LoginFailure(
        `The tokens from the identity provider need ${text.length} characters in cookies; the maximum is ${PIECE_CHARS * MAX_PIECES}. Reduce the claims of the tokens, or set CONSOLE_CLIENT_ID to a client whose tokens have fewer claims.`,
      )
    const attributes = `Path=/; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`
    return Array.from({ length: MAX_PIECES }, (_, at) => {
      const piece = text.slice(at * PIECE_CHARS, (at + 1) * PIECE_CHARS)
      const maxAgeSecs = piece === '' ? 0 : Math.floor(maxMs / 1000)
      return `${name}.${at}=${piece}; ${attributes}; Max-Age=${maxAgeSecs}`
    })
  }
}

/** Whether the page that sent the request holds the token of the session. */
export function hasCsrfToken(request: Request, session: Session): boolean {
  return isCsrfToken(request.headers.get('x-csrf-token') ?? '', session)
}

export function isCsrfToken(text: string, session: Session): boolean {
  const given = Buffer.from(text)
  const expected = Buffer.from(session.csrf)
  return given.byteLength === expected.byteLength && timingSafeEqual(given, expected)
}

function cookiesOf(request: Request): ReadonlyMap<string, string> {
  const pairs = (request.headers.get('cookie') ?? '').split(/; */)
  return new Map(
    pairs.map(pair => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at).trim(), pair.slice(at + 1)] as const
    }),
  )
}
