/** Calls `/v1/config` and other resources of a control plane with a token or client credentials from the environment. */

import { hostOf } from '../../../base/bare-host.ts'
import { readJson, writeJson } from '../../../base/json/exact-number.ts'
import { isObject } from '../../../base/json/is-object.ts'
import { shownAddress } from '../../../base/shown-address.ts'
import { ClientCredentials } from '../../../identity/client-credentials.ts'
import { createEgress } from '../../../net/egress/client.ts'
import { Reader } from '../../settings/reader.ts'
import { SettingsError } from '../../settings.ts'
import { type CommandContext, CommandFailure } from '../command.ts'
import { shownText } from '../shown-text.ts'
import type { ConfigOptions } from './options.ts'

/** An apply of thousands of resources takes a while. */
const TIMEOUT_MS = 120_000
const DEFAULT_URL = 'http://localhost:8081'
const MAX_SHOWN_DETAILS = 20

export interface ConfigResponse {
  readonly body: unknown
  /** '' when there is none. */
  readonly etag: string
}

const CHECK = 'Check with `toolgate config diff` whether the changes were applied, then retry'

export interface ConfigRequest {
  readonly method: 'GET' | 'POST'
  /** Below `/v1/`; absent: `config`. */
  readonly path?: string
  readonly query: { readonly [name: string]: string | undefined }
  readonly body?: object
  readonly ifMatch?: string
  /** Up to the end of the response; absent: time for an apply of thousands of resources. */
  readonly timeoutMs?: number
}

export type ConfigClient = (request: ConfigRequest) => Promise<ConfigResponse>

/** @throws SettingsError without a token; CommandFailure when the identity provider refuses */
export async function connect(options: ConfigOptions, env: CommandContext['env']): Promise<ConfigClient> {
  const read = new Reader(env)
  const base = (options.url ?? read.text('API_URL', DEFAULT_URL)).replace(/\/+$/, '')
  const label = shownAddress(base)
  // fetch refuses it as well, in a message with the password
  if (URL.canParse(base) && new URL(base).username + new URL(base).password !== '')
    throw new CommandFailure(
      'The address of the control plane contains a user name or password. Remove them from --url or API_URL.',
    )
  const token = await tokenOf(read)
  return async ({ method, path = 'config', query, body, ifMatch, timeoutMs = TIMEOUT_MS }) => {
    const url = new URL(`${base}/v1/${path}`)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) url.searchParams.set(name, value)
    const sent = {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(options.tenant === undefined ? {} : { 'x-tenant-id': options.tenant }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: writeJson(body) }),
    } as const
    const within = ` within ${timeoutMs / 1000} s`
    // a change is made before its response begins
    const changes = method !== 'GET' && query.dry_run !== 'true'
    const response = await fetch(url, sent).catch(error => {
      const fix = changes && !isUnsent(error) ? CHECK : 'Check --url, and check that the control plane runs'
      throw new CommandFailure(
        `${label} did not respond${isLate(error) ? within : `: ${reasonOf(error)}`}. ${fix}.`,
      )
    })
    const text = await response.text().catch(error => {
      const fix = changes ? CHECK : 'Retry'
      const reason = isLate(error) ? `it did not end${within}` : reasonOf(error)
      throw new CommandFailure(`The response from ${label} is incomplete: ${reason}. ${fix}.`)
    })
    const json = jsonOf(text)
    if (!response.ok) throw new CommandFailure(refusalOf(response.status, json, label))
    if (json === undefined)
      throw new CommandFailure(
        `${label} did not respond with JSON. Set --url to the address of the control plane.`,
      )
    return { body: json, etag: response.headers.get('etag') ?? '' }
  }
}

async function tokenOf(read: Reader): Promise<string> {
  const token = read.optional('TOOLGATE_TOKEN')
  const clientId = read.optional('TOOLGATE_CLIENT_ID')
  const clientSecret = read.optional('TOOLGATE_CLIENT_SECRET')
  const issuer = read.optional('AUTH_ISSUER')
  const credentials = {
    TOOLGATE_CLIENT_ID: clientId,
    TOOLGATE_CLIENT_SECRET: clientSecret,
    AUTH_ISSUER: issuer,
  }
  const missing = Object.entries(credentials).flatMap(([name, value]) => (value === undefined ? name : []))
  if (token === undefined && missing.length > 0)
    read.fault(
      'TOOLGATE_TOKEN',
      `is not set, and TOOLGATE_CLIENT_ID, TOOLGATE_CLIENT_SECRET and AUTH_ISSUER are not all set (missing: ${missing.join(', ')}).`,
      'Set TOOLGATE_TOKEN to an access token that has the role tenant-admin or cpi-admin, or set the missing variables.',
    )
  if (read.faults.length > 0) throw new SettingsError(read.faults)
  if (token !== undefined) return token.replace(/^Bearer /i, '')
  const egress = createEgress({ allow: [hostOf(issuer!)], allowLoopback: true })
  try {
    const credentials = new ClientCredentials({
      egress,
      at: { issuer: issuer! },
      clientId: clientId!,
      clientSecret: clientSecret!,
      names: 'TOOLGATE_CLIENT_ID and TOOLGATE_CLIENT_SECRET',
      now: Date.now,
    })
    return await credentials.token()
  } catch (error) {
    throw new CommandFailure(
      `The identity provider in AUTH_ISSUER issued no access token: ${reasonOf(error)}.`,
    )
  } finally {
    await egress.close()
  }
}

function jsonOf(text: string): unknown {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

function refusalOf(status: number, json: unknown, label: string): string {
  const error = isObject(json) && isObject(json.error) ? json.error : undefined
  if (error === undefined)
    return `${label} responded with status ${status}, but without a JSON error object. Check --url, and check the proxy in front of the control plane.`
  const details = Array.isArray(error.details) ? error.details.filter(isObject) : []
  const lines = details
    .slice(0, MAX_SHOWN_DETAILS)
    .map(({ field, message }) => `\n  ${shownText(`${field} ${message}`)}`)
  const more = details.length > lines.length ? `\n  and ${details.length - lines.length} more` : ''
  const why = shownText(`${error.code}: ${error.message}`)
  return `The control plane refused the request with ${status} ${why}${lines.join('')}${more}`
}

/** No connection was opened. */
function isUnsent(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
  return (
    code !== undefined && ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(code)
  )
}

/** The time of the request is over. */
function isLate(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message
}
