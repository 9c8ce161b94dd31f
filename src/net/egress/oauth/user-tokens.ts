/** Tokens that users have granted for backends: their authorization, storage, renewal and revocation. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sealer } from '../../../base/secrets/sealer.ts'
import type { BackendAuthentication } from '../../../model/tool.ts'
import type { Egress } from '../egress.ts'
import { type Authorization, type ReturnedGrant, requestCode } from './authorization-request.ts'
import type { ConnectionStore } from './connection-store.ts'
import { issuerFault, readMetadata } from './server-metadata.ts'
import {
  fault,
  type IssuedToken,
  identityOf,
  renewalOf,
  requestToken,
  revokeToken,
  type TokenFault,
} from './token-endpoint.ts'
import { type ReportUnwritten, UnwrittenGrants } from './unwritten-grants.ts'

/** Whose tokens they are, and for which ToolSet: tools of another one never get them. */
export interface ConnectionPlace {
  /** Id of the user, the same for all clients of the user. */
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
  /** For renewed tokens: the server may refuse the stored ones. */
  readonly onUnwritten?: ReportUnwritten
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

interface Connection {
  readonly granted: Granted
  /** The stored text, which identifies this version of the connection. */
  readonly version: string
}

type Unlock = () => Promise<void>

const LOCK_MS = 15_000
const POLL_MS = 100
const MAX_WAIT_MS = 12_000
/** Unstated life of a token that the server neither limits nor renews. */
const UNSTATED_LIFE_MS = 3650 * 24 * 3_600_000

const NOT_CONNECTED = fault('not_connected', 'The user has not connected an account for this backend.')
const STORE_FAILED = fault('unavailable', 'The store of connected accounts is unavailable.')
const CHANGED = fault(
  'refused',
  'The authorization server of this tool set has changed since the connection was begun. Connect again.',
)
const STILL_RENEWING = fault(
  'unavailable',
  'Another request is still renewing the access token of this user. Retry later.',
)

export class UserTokens {
  readonly #options: UserTokensOptions
  readonly #refreshes = new Map<string, Promise<string | TokenFault>>()
  readonly #unwritten: UnwrittenGrants<Granted>
  #opening: Promise<Opened> | undefined

  constructor(options: UserTokensOptions) {
    this.#options = options
    this.#unwritten = new UnwrittenGrants(options.onUnwritten ?? (() => {}))
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
      const connection = await this.#read(key)
      if (connection === undefined) return NOT_CONNECTED
      const { granted } = connection
      if (granted.accessToken !== refused && granted.renewAtMs > this.#options.now())
        return granted.accessToken
      const running = this.#refreshes.get(key)
      if (running !== undefined) return await running
      const refreshing = this.#refreshToken(key, authentication, refused)
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
    return (await this.#read(keyOf(authentication, place)))?.granted.connectedAtMs
  }

  /** Where the user consents. */
  authorization(
    authentication: BackendAuthentication,
    place: ConnectionPlace,
    redirectUri: string,
  ): Authorization {
    return { ...requestCode(authentication.oauth!, redirectUri), key: keyOf(authentication, place) }
  }

  /** Stores what the code stands for, unless another server may have issued it. @throws Error when the store is unavailable */
  async connect(
    authentication: BackendAuthentication,
    place: ConnectionPlace,
    grant: ReturnedGrant,
  ): Promise<TokenFault | undefined> {
    const { egress, now } = this.#options
    const key = keyOf(authentication, place)
    if (key !== grant.key) return CHANGED
    const foreign = await issuerFault(egress, authentication.oauth!, grant.issuer)
    if (foreign !== undefined) return foreign
    // a code is good for one request: the store has to be there before
    const { store, sealer } = await this.#openStored()
    const issued = await requestToken(egress, identityOf(authentication), {
      grant_type: 'authorization_code',
      code: grant.code,
      code_verifier: grant.verifier,
      redirect_uri: grant.redirectUri,
      resource: authentication.oauth!.resource,
    })
    if (issued.kind === 'fault') return issued
    const nowMs = now()
    // a refresh of the grant before finds another version, and changes nothing
    await store.write(key, sealer.seal(JSON.stringify(grantedFrom(issued, nowMs, nowMs)), key))
    return undefined
  }

  /** Removes the connection, and revokes its tokens where the server has an address for that. @throws Error when the store is unavailable */
  async disconnect(authentication: BackendAuthentication, place: ConnectionPlace): Promise<void> {
    const key = keyOf(authentication, place)
    const { store, sealer } = await this.#openStored()
    const version = await store.remove(key)
    const granted = version === undefined ? undefined : this.#open(sealer, key, version)
    this.#unwritten.drop(key)
    if (granted !== undefined) await this.#revoke(authentication, granted)
  }

  /** Never rejects. */
  async #revoke(authentication: BackendAuthentication, granted: Granted): Promise<void> {
    const { egress } = this.#options
    const { issuer, revocationUrl: configured } = authentication.oauth!
    const url = configured ?? (issuer && (await readMetadata(egress, issuer))?.revocationUrl)
    if (url === undefined) return
    for (const token of [granted.refreshToken, granted.accessToken])
      if (token !== undefined) await revokeToken(egress, identityOf(authentication), url, token)
  }

  /** Unlocking never rejects: the call has its result by then, and the lock ends by itself. */
  async #tryLock(key: string): Promise<Unlock | undefined> {
    const unlock = await (await this.#openStored()).store.lock(key, LOCK_MS)
    return unlock && (() => unlock().catch(() => {}))
  }

  /** For threads and instances, one refreshes: a server that rotates refresh tokens refuses one that is used twice. */
  async #refreshToken(
    key: string,
    authentication: BackendAuthentication,
    refused: string,
  ): Promise<string | TokenFault> {
    const { now } = this.#options
    const untilMs = performance.now() + MAX_WAIT_MS
    for (;;) {
      const unlock = await this.#tryLock(key)
      try {
        const connection = await this.#read(key)
        if (connection === undefined) return NOT_CONNECTED
        const { accessToken, renewAtMs } = connection.granted
        if (accessToken !== refused && renewAtMs > now()) return accessToken
        // one that is not written yet is not renewed: a restart would lose two of them
        if (unlock !== undefined && this.#unwritten.get(key) === undefined)
          return await this.#refresh(key, authentication, connection, refused, unlock)
      } finally {
        if (this.#unwritten.get(key)?.unlock !== unlock) await unlock?.()
      }
      if (performance.now() > untilMs)
        return this.#unwritten.get(key) === undefined ? STILL_RENEWING : STORE_FAILED
      await sleep(POLL_MS)
    }
  }

  async #refresh(
    key: string,
    authentication: BackendAuthentication,
    { granted, version }: Connection,
    refused: string,
    unlock: Unlock,
  ): Promise<string | TokenFault> {
    const { egress, now } = this.#options
    const { accessToken, refreshToken, expiresAtMs, connectedAtMs } = granted
    const isUsable = accessToken !== refused && expiresAtMs > now()
    if (refreshToken === undefined) return isUsable ? accessToken : this.#end(key, version)
    const issued = await requestToken(egress, identityOf(authentication), {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
    })
    if (issued.kind === 'token') {
      const rotated = { ...issued, refreshToken: issued.refreshToken ?? refreshToken }
      const renewed = grantedFrom(rotated, now(), connectedAtMs)
      return this.#store(key, authentication, version, renewed, unlock)
    }
    // also when the client's own secret or address is wrong: the grant is still good
    if (issued.isGrantOver !== true) return isUsable ? accessToken : issued
    // the user has withdrawn the grant, or it has ended
    return this.#end(key, version)
  }

  /** Stores a renewed grant in place of the one before. @returns the access token to use */
  async #store(
    key: string,
    authentication: BackendAuthentication,
    before: string,
    granted: Granted,
    unlock: Unlock,
  ): Promise<string | TokenFault> {
    const { store, sealer } = await this.#openStored()
    const sealed = sealer.seal(JSON.stringify(granted), key)
    const revoke = (): Promise<void> => this.#revoke(authentication, granted)
    try {
      if (await store.replace(key, before, sealed)) return granted.accessToken
    } catch {
      // a server that rotates refresh tokens no longer accepts the stored one
      this.#unwritten.hold(store, key, { granted, sealed, before, unlock, revoke })
      return granted.accessToken
    }
    const current = await this.#read(key)
    // connected again in the meantime, perhaps with another account
    if (current !== undefined) return current.granted.accessToken
    // disconnected in the meantime
    await revoke()
    return NOT_CONNECTED
  }

  /** Removes a grant that is over, unless another one has taken its place. @returns the access token to use */
  async #end(key: string, version: string): Promise<string | TokenFault> {
    const { store } = await this.#openStored()
    if ((await store.remove(key, version)) !== undefined) return NOT_CONNECTED
    return (await this.#read(key))?.granted.accessToken ?? NOT_CONNECTED
  }

  #openStored(): Promise<Opened> {
    this.#opening ??= this.#options.open()
    this.#opening.catch(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #read(key: string): Promise<Connection | undefined> {
    const { store, sealer } = await this.#openStored()
    const version = await store.read(key)
    if (version === undefined) return undefined
    const granted = this.#open(sealer, key, version)
    return granted && { granted, version }
  }

  #open(sealer: Sealer, key: string, version: string): Granted | undefined {
    const unwritten = this.#unwritten.get(key)
    if (unwritten?.before === version) return unwritten.granted
    try {
      return JSON.parse(sealer.open(version, key)) as Granted
    } catch {
      // damaged, or sealed with another key: the user connects again
      return undefined
    }
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
