/** Opens the key for secrets in the database, and starts the delivery of webhooks with its client and metrics. */
import { isIP } from 'node:net'
import { join } from 'node:path'
import { hostOf } from '../../base/bare-host.ts'
import { keptKey } from '../../base/secrets/key-file.ts'
import { createSealer, type Sealer } from '../../base/secrets/sealer.ts'
import { VERSION } from '../../base/version.ts'
import type { Store } from '../../control-plane/store/store.ts'
import { startWebhooks, type Webhooks } from '../../control-plane/webhooks/webhook-sending.ts'
import { createAddressGuard } from '../../net/egress/address-guard.ts'
import { createEgress } from '../../net/egress/client.ts'
import { type AppContext, reachOf } from './app-context.ts'

/** The dispatcher limits concurrent deliveries; these limit the connections that stay open. */
const MAX_ORIGINS = 512
const MAX_CONNECTIONS_PER_ORIGIN = 64

/** Whether webhooks must be https. */
function isHttpsOnly({ settings }: AppContext): boolean {
  return settings.nodeEnv === 'production'
}

/** @returns why no delivery can reach an http(s) address, whatever names resolve to; undefined: one may */
export function webhookFaults(context: AppContext): (url: string) => string | undefined {
  const guard = createAddressGuard(reachOf(context.settings))
  return url => {
    if (isHttpsOnly(context) && !url.startsWith('https:')) return 'must be an https address in production.'
    // the parser of URLs has every spelling of an address in its usual form by then
    const host = hostOf(url)
    const refusal = isIP(host) === 0 ? undefined : guard.refusal(host, host)
    if (refusal === undefined) return undefined
    return `must not be ${refusal}, which deliveries may not reach. To allow such deliveries, add the address to EGRESS_ALLOW.`
  }
}

/** Encrypts secrets in the database. @throws Error if the key in `DATA_DIR` cannot be read or created */
export function openSealer({ settings, log }: AppContext): Sealer {
  if (settings.secretsKey !== undefined) return createSealer(settings.secretsKey)
  const { key, fresh } = keptKey(join(settings.dataDir, 'secrets.key'))
  if (fresh && !settings.databaseUrl.startsWith('pglite:')) {
    log.warn(
      {},
      'SECRETS_KEY is not set: webhook secrets are encrypted with a key in DATA_DIR. If several control planes use this database, set the same SECRETS_KEY for all of them',
    )
  }
  return createSealer(key)
}

/**
 * Starts delivery with a separate outgoing client, so that receivers that hang take no connection from calls.
 * @param start starts it, and repeats that while the database is unavailable
 * @throws Error in production if an enabled webhook uses plain HTTP
 */
export async function sendWebhooks(
  context: AppContext,
  store: Store,
  start: (work: () => Promise<Webhooks>) => Promise<Webhooks>,
): Promise<Webhooks> {
  const { log, closers, clock, metrics } = context
  const egress = createEgress({
    ...reachOf(context.settings),
    maxOrigins: MAX_ORIGINS,
    maxConnectionsPerOrigin: MAX_CONNECTIONS_PER_ORIGIN,
  })
  closers.add('HTTP client for webhooks', () => egress.close())
  const outcomes = { success: 0, retry: 0, failed: 0 }
  const webhooks = await start(() =>
    startWebhooks({
      store,
      egress,
      now: clock.now,
      httpsOnly: isHttpsOnly(context),
      userAgent: `Toolgate/${VERSION}`,
      onOutcome(outcome) {
        outcomes[outcome]++
      },
      onFault: (message, error) => log.error({ err: error }, message),
    }),
  )
  closers.add('webhooks', () => webhooks.close())
  metrics.read('platform_webhook_delivered_total', () => outcomes.success)
  metrics.read('platform_webhook_retries_total', () => outcomes.retry)
  metrics.read('platform_webhook_failed_total', () => outcomes.failed)
  metrics.read('platform_webhook_queue_depth', () => webhooks.depth.waiting)
  metrics.read('platform_webhook_oldest_due_seconds', () => webhooks.depth.oldestDueMs / 1000)
  metrics.read('platform_webhook_in_flight', () => webhooks.inFlight)
  return webhooks
}
