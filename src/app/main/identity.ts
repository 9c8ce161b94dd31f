/** Starts the embedded identity provider where `AUTH_ISSUER` is not set, and opens the verifiers of tokens. */
import { join } from 'node:path'
import { startProviderThread } from '../../identity/dev-provider/start-in-thread.ts'
import { fetchJsonOver } from '../../identity/fetch-json.ts'
import { createTokenVerifier } from '../../identity/jwks.ts'
import { NO_TOKENS } from '../../identity/no-provider.ts'
import type { TokenVerifier } from '../../identity/verifier.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Settings } from '../settings.ts'
import { type AppContext, servedNames } from './app-context.ts'

/** Once for the process. @returns the issuer, or `none`; the embedded provider is started if `AUTH_ISSUER` is not set */
export async function openIssuer({ settings, log, closers, clock }: AppContext): Promise<string> {
  warnOfLooseAudiences(settings.auth, log)
  if (settings.auth.issuer !== undefined) return settings.auth.issuer
  const provider = await startProviderThread({
    host: settings.gateway.host,
    port: settings.auth.devPort,
    dataDir: join(settings.dataDir, 'dev-provider'),
    servedNames: servedNames(settings),
    origins: settings.cors.origins,
    log,
    clock,
  })
  closers.add('embedded identity provider', () => provider.close())
  return provider.issuer
}

/** @param gatewayUrl tokens may name the gateway's own addresses as their audience */
export function openVerifier(context: AppContext, issuer: string, gatewayUrl: string): TokenVerifier {
  const { settings, egress, log, closers, conditions } = context
  if (settings.auth.provider === 'none') return NO_TOKENS
  const tokens = createTokenVerifier({
    issuer,
    audiences: settings.auth.allowedAudiences,
    resourceUris: [gatewayUrl, `${gatewayUrl}/mcp`],
    resourceBase: `${gatewayUrl}/mcp`,
    fetchJson: fetchJsonOver(egress),
    rights: settings.auth.scopes === 'intersection' ? 'intersection' : undefined,
    onFault: fault => conditions.set('identity provider', fault),
    log,
  })
  tokens.start()
  closers.add('token verifier', () => tokens.close())
  return tokens
}

function warnOfLooseAudiences({ provider, allowedAudiences }: Settings['auth'], log: Log): void {
  if (provider !== 'none' && allowedAudiences.length === 0)
    log.warn(
      { setting: 'ALLOWED_AUDIENCES' },
      'ALLOWED_AUDIENCES is empty, so the audience of tokens is not checked. Leave it empty only for debugging',
    )
  // the embedded provider issues tokens for nothing but this gateway
  if (provider === 'external' && allowedAudiences.includes('account'))
    log.warn(
      { setting: 'ALLOWED_AUDIENCES', audience: 'account' },
      'ALLOWED_AUDIENCES contains "account", an audience of nearly every token from a Keycloak realm. Remove "account" once your clients have an audience mapper',
    )
}
