/** Tokens that users have granted for backends: their authorization, storage, renewal and revocation. It shows no page. */
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BackendAuthentication } from '../../../model/tool.ts'
import type { Sealer } from '../../secrets/sealer.ts'
import type { Egress } from '../egress.ts'
import type { ConnectionStore } from './connection-store.ts'
import {
  type ClientIdentity,
  fault,
  type IssuedToken,
  identityOf,
  renewalOf,
  requestToken,
  revokeToken,
  type TokenFault,
} from './token-endpoint.ts'

/** Whose tokens they are, and for which ToolSet: tools of another one never get them. */
export interface ConnectionPlace {
  /** Of the user, the same for all of its clients. */
  readonly user: string
  readonly namespace: string
  readonly toolSet: string
}

interface Opened {
  readonly store: ConnectionStore
  readonly sealer: Sealer
}

interface UserTokensOptions {
  readonly egress: Egress
  /** Called when they are first needed, and again after it has failed. */
  readonly open: () => Promise<Opened>
  /** Unix ms. */
  readonly now: () => number
}

/** Sealed in the store. */
interface Granted {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Unix ms. */
  readonly renewAtMs: number
  readonly expiresAtMs: number
  readonly connectedAtMs: number
}

export interface Authorization {
  /** Address of the authorization server for the browser. */
  readonly url: string
  readonly state: string
  readonly verifier: string
}

const LOCK_MS = 15_000
const POLL_MS = 100
const MAX_WAIT_MS = 12_000
/** Of a token that the server neither limits nor renews. */
const UNSTATED_LIFE_MS = 3650 * 24 * 3_600_000

const NOT_CONNECTED = fault('not_connected', 'The user has not connected an account for this backend.')
const STORE_FAILED = fault('unavailable', 'The store of connected accounts is unavailable.')

export class UserTokens {
  readonly #options: UserTokensOptions
  readonly #refreshes = new Map<string, Promise<string | TokenFault>>()
  #opening: Promise<Opened> | undefined

  constructor(options: UserTokensOptions) {
    this.#options = options
  }

  /**
   * The token of the user. Never rejects.
   * @param refused the backend did not accept this one: another one is requested
   */
  async token(
    authentication: BackendAuthentication,
    place: ConnectionPlace,
    refused = '',
  ): Promise<string | TokenFault> {
    const key = keyOf(authentication, place)
    try {
      const granted = await this.#read(key)
      if (granted === undefined) return NOT_CONNECTED
      if (granted.accessToken !== refused && granted.renewAtMs > this.#options.now())
        return granted.accessToken
      const running = this.#refreshes.get(key)
      if (running !== undefined) return await running
      const refreshing = this.#refreshed(key, authentication, refused)
      this.#refreshes.set(key, refreshing)
      try {
        return await refreshing
      } finally {
        this.#refreshes.delete(key)
      }
    } catch {
      return STORE_FAILED
    }
  }

  /** @throws Error when the store is unavailable */
  async connectedAtMs(
    authentication: BackendAuthentication,
    place: ConnectionPlace,
  ): Promise<number | undefined> {
    return (await this.#read(keyOf(authentication, place)))?.connectedAtMs
  }

  /** Where the user consents (RFC 6749 §4.1.1, with PKCE, RFC 7636). */
  authorization({ oauth }: BackendAuthentication, redirectUri: string): Authorization {
    const { authorizationUrl = '', clientId, scope, audience, resource } = oauth!
    const verifier = randomBytes(32).toString('base64url')
    const state = randomBytes(18).toString('base64url')
    const url = new URL(authorizationUrl)
    const parameters = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      scope,
      audience,
      resource,
    }
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) url.searchParams.set(name, value)
    return { url: url.href, state, verifier }
  }

  /** Stores what the code stands for. @throws Error when the store is unavailable */
  async connect(
    authentication: BackendAuthentication,
    place: ConnectionPlace,
    grant: { readonly code: string; readonly verifier: string; readonly redirectUri: string },
  ): Promise<TokenFault | undefined> {
    // a code is good for one request: the store has to be there before
    await this.#opened()
    const issued = await requestToken(this.#options.egress, identityOf(authentication), {
      grant_type: 'authorization_code',
      code: grant.code,
      code_verifier: grant.verifier,
      redirect_uri: grant.redirectUri,
      resource: authentication.oauth!.resource,
    })
    if (issued.kind === 'fault') return issued
    const key = keyOf(authentication, place)
    // a refresh of the grant before could write, or remove, after this
    const unlock = await this.#lock(key)
    try {
      const nowMs = this.#options.now()
      await this.#write(key, grantedFrom(issued, nowMs, nowMs))
    } finally {
      await unlock?.()
    }
    return undefined
  }

  /** @returns undefined when another one holds the lock for longer than a refresh may take */
  async #lock(key: string): Promise<(() => Promise<void>) | undefined> {
    const { store } = await this.#opened()
    const untilMs = performance.now() + MAX_WAIT_MS
    for (;;) {
      const unlock = await store.lock(key, LOCK_MS)
      if (unlock !== undefined || performance.now() > untilMs) return unlock
      await sleep(POLL_MS)
    }
  }

  /** Removes the connection, and revokes its tokens where the server has an address for that. @throws Error when the store is unavailable */
  async disconnect(authentication: BackendAuthentication, place: ConnectionPlace): Promise<void> {
    const key = keyOf(authentication, place)
    const granted = await this.#read(key)
    await (await this.#opened()).store.remove(key)
    if (granted === undefined) return
    const identity: ClientIdentity = identityOf(authentication)
    for (const token of [granted.refreshToken, granted.accessToken])
      if (token !== undefined) await revokeToken(this.#options.egress, identity, token)
  }

  /** Of threads and instances, one refreshes: a server that rotates refresh tokens refuses one that is used twice. */
  async #refreshed(
    key: string,
    authentication: BackendAuthentication,
    refused: string,
  ): Promise<string | TokenFault> {
    const { now } = this.#options
    const { store } = await this.#opened()
    const untilMs = performance.now() + MAX_WAIT_MS
    for (;;) {
      const unlock = await store.lock(key, LOCK_MS)
      try {
        const granted = await this.#read(key)
        if (granted === undefined) return NOT_CONNECTED
        if (granted.accessToken !== refused && granted.renewAtMs > now()) return granted.accessToken
        if (unlock !== undefined) return await this.#refresh(key, authentication, granted, refused)
      } finally {
        await unlock?.()
      }
      if (performance.now() > untilMs)
        return fault(
          'unavailable',
          'Another request is still renewing the access token of this user. Retry later.',
        )
      await sleep(POLL_MS)
    }
  }

  async #refresh(
    key: string,
    authentication: BackendAuthentication,
    granted: Granted,
    refused: string,
  ): Promise<string | TokenFault> {
    const { egress, now } = this.#options
    const { store } = await this.#opened()
    const { accessToken, refreshToken, expiresAtMs, connectedAtMs } = granted
    const isUsable = accessToken !== refused && expiresAtMs > now()
    if (refreshToken === undefined) {
      if (isUsable) return accessToken
      await store.remove(key)
      return NOT_CONNECTED
    }
    const issued = await requestToken(egress, identityOf(authentication), {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    })
    if (issued.kind === 'token') {
      const current = await this.#read(key)
      // disconnected in the meantime
      if (current === undefined) {
        await revokeToken(egress, identityOf(authentication), issued.refreshToken ?? issued.value)
        return NOT_CONNECTED
      }
      // connected again in the meantime, perhaps with another account
      if (current.refreshToken !== refreshToken) return current.accessToken
      const next = { ...issued, refreshToken: issued.refreshToken ?? refreshToken }
      await this.#write(key, grantedFrom(next, now(), connectedAtMs))
      return issued.value
    }
    // also when the client's own secret or address is wrong: the grant is still good
    if (issued.isGrantOver !== true) return isUsable ? accessToken : issued
    const current = await this.#read(key)
    if (current !== undefined && current.refreshToken !== refreshToken) return current.accessToken
    // the user has withdrawn the grant, or it has ended
    await store.remove(key)
    return NOT_CONNECTED
  }

  #opened(): Promise<Opened> {
    this.#opening ??= this.#options.open()
    this.#opening.catch(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #read(key: string): Promise<Granted | undefined> {
    const { store, sealer } = await this.#opened()
    const sealed = await store.read(key)
    if (sealed === undefined) return undefined
    try {
      return JSON.parse(sealer.open(sealed, key)) as Granted
    } catch {
      // damaged, or sealed with another key: the user connects again
      return undefined
    }
  }

  async #write(key: string, granted: Granted): Promise<void> {
    const { store, sealer } = await this.#opened()
    await store.write(key, sealer.seal(JSON.stringify(granted), key))
  }
}

function grantedFrom(issued: IssuedToken, nowMs: number, connectedAtMs: number): Granted {
  const { value: accessToken, refreshToken, statedMs = UNSTATED_LIFE_MS } = issued
  // nothing renews it: it is used until it expires, or until the backend refuses it
  if (refreshToken === undefined) {
    const endsAtMs = nowMs + statedMs
    return { accessToken, refreshToken, renewAtMs: endsAtMs, expiresAtMs: endsAtMs, connectedAtMs }
  }
  const renewAtMs = renewalOf(issued, nowMs)
  return { accessToken, refreshToken, renewAtMs, expiresAtMs: nowMs + issued.livesMs, connectedAtMs }
}

/** The secret of the client may change, the server and the client may not: tokens of one are not for another. */
function keyOf({ oauth }: BackendAuthentication, { user, namespace, toolSet }: ConnectionPlace): string {
  const { tokenUrl, authorizationUrl, clientId } = oauth!
  const parts = [user, namespace, toolSet, tokenUrl, authorizationUrl, clientId]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
