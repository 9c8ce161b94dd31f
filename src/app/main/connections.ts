/** Opens the accounts that users connect at backends: their store, tokens, and the page at `/connections`. */
import { join } from 'node:path'
import { keptKey } from '../../base/secrets/key-file.ts'
import { createSealer } from '../../base/secrets/sealer.ts'
import { type ConnectionBook, createConnections } from '../../console/connections.ts'
import type { SessionMarks } from '../../console/session-marks.ts'
import { userKeyOf } from '../../data-plane/sessions/owner.ts'
import type { Snapshot } from '../../data-plane/snapshot/snapshot.ts'
import type { TokenVerifier } from '../../identity/verifier.ts'
import type { Principal } from '../../model/principal.ts'
import type { BackendAuthentication } from '../../model/tool.ts'
import type { ConnectionStore } from '../../net/egress/oauth/connection-store.ts'
import { fileConnections } from '../../net/egress/oauth/file-connections.ts'
import type { ReportUnwritten } from '../../net/egress/oauth/unwritten-grants.ts'
import { type ConnectionPlace, UserTokens } from '../../net/egress/oauth/user-tokens.ts'
import type { HttpHandler } from '../../net/server/listener.ts'
import { mountWeb } from '../../net/server/web.ts'
import type { AppContext } from './app-context.ts'
import { gatewayClient } from './local-address.ts'
import { openRedis } from './open-redis.ts'
import { sessionLog, withPeers } from './session-log.ts'
import { reportUnrevoked } from './session-marks.ts'

const MAX_FORM_BYTES = 16 * 1024

/** Store and key are opened when they are first needed: by a call of a tool, or by the page. */
export function openUserTokens(context: AppContext): UserTokens {
  const { settings, egress, clock } = context
  return new UserTokens({
    egress,
    now: clock.now,
    onUnwritten: reportUnwritten(context),
    async open() {
      const key = settings.secretsKey ?? keptKey(join(settings.dataDir, 'connections.key')).key
      return { store: await openStore(context), sealer: createSealer(key) }
    },
  })
}

/** Degrades the gateway while renewed tokens are not stored: they are lost when the process ends. */
function reportUnwritten({ conditions, log }: AppContext): ReportUnwritten {
  const where = 'Check the disk of DATA_DIR, or Redis if REDIS_URL is set'
  let wasHeld = 0
  let wasLost = 0
  return (held, lost) => {
    conditions.set(
      'connected accounts',
      held === 0 ? undefined : `${held} renewed tokens of users are not stored`,
    )
    if (held > 0 && wasHeld === 0)
      log.warn({ held }, `renewed tokens of users could not be stored; the gateway tries again. ${where}`)
    else if (held === 0 && lost === wasLost)
      log.info({ held }, 'no renewed token of a user waits for its store')
    if (lost > wasLost)
      log.error(
        { lost },
        `a renewed token of a user was not stored in time: the user has to connect the account again. ${where}`,
      )
    wasHeld = held
    wasLost = lost
  }
}

async function openStore(context: AppContext): Promise<ConnectionStore> {
  const { redis: target, dataDir } = context.settings
  if (target === undefined) return fileConnections(join(dataDir, 'connections'))
  const { redisConnections } = await import('../../net/redis/connections-of-users.ts')
  return redisConnections(await openRedis(context, target, 'connected accounts'))
}

export interface ConnectionsParts {
  readonly verifier: TokenVerifier
  readonly users: UserTokens
  readonly marks: SessionMarks
  readonly snapshot: () => Snapshot | undefined
  readonly gatewayUrl: string
  /** The gateway as this process reaches it. */
  readonly gatewayAddress: string
  /** Public address of the listener under which the page is served. */
  readonly pagesUrl: string
}

/** Serves `/connections`, and opens what it needs at the first request. */
export function connectionsHandler(context: AppContext, parts: ConnectionsParts): HttpHandler {
  const { settings, closers, clock, log } = context
  const { gatewayAddress, gatewayUrl, pagesUrl, verifier, marks } = parts
  const onFault = (error: unknown): void =>
    log.error({ err: error }, 'a request to the page /connections failed')

  function open(): HttpHandler {
    const egress = gatewayClient(gatewayAddress, settings.gateway.tls)
    closers.add('HTTP client of the page /connections', () => egress.close())
    const respond = createConnections({
      egress,
      verifier,
      marks,
      gatewayAddress,
      gatewayUrl,
      pagesUrl,
      onFault,
      onUnrevoked: reportUnrevoked(context),
      onSession: sessionLog(context, 'connections'),
      book: bookOf(parts),
      sealer: createSealer(settings.secretsKey ?? keptKey(join(settings.dataDir, 'console.key')).key),
      clientId: settings.console.clientId,
      now: clock.now,
    })
    return mountWeb(withPeers(respond), {
      maxBodyBytes: MAX_FORM_BYTES,
      scheme: settings.gateway.tls === undefined ? 'http' : 'https',
      onError: onFault,
    })
  }

  let page: HttpHandler | undefined
  return (request, response) => {
    page ??= open()
    return page(request, response)
  }
}

interface Site {
  readonly authentication: BackendAuthentication
  readonly place: ConnectionPlace
}

function bookOf({ users, snapshot }: ConnectionsParts): ConnectionBook {
  /** By id, in the order of the ids: the tool sets of type authorization_code that the tenant of the user can see. */
  function sitesOf(principal: Principal): ReadonlyMap<string, Site> {
    const sites = new Map<string, Site>()
    const current = snapshot()
    const user = userKeyOf(principal)
    const { tenant } = principal
    const entries = [current?.toolsOf(tenant).values() ?? [], current?.featuresOf(tenant).values() ?? []]
    for (const { tool } of entries.flatMap(each => [...each])) {
      const { authentication, namespace, toolSet } = tool
      if (authentication.type === 'authorization_code')
        sites.set(`${namespace}/${toolSet}`, { authentication, place: { user, namespace, toolSet } })
    }
    return new Map([...sites].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  return {
    list: principal =>
      Promise.all(
        [...sitesOf(principal)].map(async ([id, { authentication, place }]) => ({
          id,
          name: place.toolSet,
          host: new URL(authentication.oauth!.authorizationUrl!).host,
          connectedAtMs: await users.connectedAtMs(authentication, place),
        })),
      ),
    begin(principal, id, redirectUri) {
      const site = sitesOf(principal).get(id)
      return site && users.authorization(site.authentication, site.place, redirectUri)
    },
    async complete(principal, id, grant) {
      const site = sitesOf(principal).get(id)
      if (site === undefined) return 'This tool set was removed, or no longer needs a connected account.'
      return (await users.connect(site.authentication, site.place, grant))?.message
    },
    async disconnect(principal, id) {
      const site = sitesOf(principal).get(id)
      if (site !== undefined) await users.disconnect(site.authentication, site.place)
    },
  }
}
