/** The parts that the portal has beyond the console: its look, the paths it may request, and trial calls of APIs. */
import type { Egress } from '../net/egress/egress.ts'
import { forwardToGateway, mayBeChosen } from './forward.ts'
import { problem } from './problem.ts'
import type { Theme } from './theme.ts'

/** What the page of the portal uses of the control plane, below `/v1`. */
const CONTROL =
  /^\/v1\/(?:portal\/(?:apis|products)|plans|subscriptions|tenants\/[^/]+\/(?:subscriptions|apikeys))(?:\/[\w-]+){0,2}$/
/** APIs of tenants, never tools and administration. */
const API = /^\/t\/[a-z0-9-]+\/./
/** Header of the page: a key that the user has entered. */
const KEY_HEADER = 'x-portal-key'
/** For the page: before the name of a header parameter of the API. */
const PARAMETER_PREFIX = 'x-portal-header-'
const KEY = /^[\x21-\x7e]{1,200}$/

export function mayUse(path: string): boolean {
  return CONTROL.test(path)
}

/** The stylesheet and the logo of the theme. */
export function themeFile({ css, logo }: Theme, path: string): Response | undefined {
  const headers = { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
  if (path === 'theme.css')
    return new Response(css, { headers: { ...headers, 'content-type': 'text/css; charset=utf-8' } })
  if (path !== 'logo' || logo === undefined) return undefined
  // a drawing that is opened by itself must not run scripts
  const policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
  return new Response(logo.bytes, {
    headers: { ...headers, 'content-type': logo.type, 'content-security-policy': policy },
  })
}

/**
 * Calls an API with the key that the user has entered, through the gateway like every other client. The key is kept nowhere, and the token
 * of the session is not sent.
 * @param path of the API on the gateway, with query
 */
export async function tryApi(
  egress: Egress,
  gatewayAddress: string,
  path: string,
  request: Request,
): Promise<Response> {
  const key = request.headers.get(KEY_HEADER) ?? ''
  if (!API.test(path))
    return problem(
      'not_found',
      'The path does not lead to an API. Use a path that begins with "/t/{tenant}/".',
    )
  if (key !== '' && !KEY.test(key))
    return problem(
      'invalid_request',
      'The API key is not valid. Use 1 to 200 printable ASCII characters without spaces.',
    )
  const credential = key === '' ? {} : { 'x-api-key': key }
  return forwardToGateway(egress, gatewayAddress + path, request, { ...parametersOf(request), ...credential })
}

/** The header parameters of the trial that a user may choose; others are left out. */
function parametersOf({ headers }: Request): Record<string, string> {
  const parameters = [...headers]
    .filter(([name]) => name.startsWith(PARAMETER_PREFIX))
    .map(([name, value]) => [name.slice(PARAMETER_PREFIX.length), value] as const)
  return Object.fromEntries(parameters.filter(([name]) => name !== '' && mayBeChosen(name)))
}
