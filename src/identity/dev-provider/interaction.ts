/** The login and consent page of the development provider, and its form. It asks for no password. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type Provider from 'oidc-provider'
import { DEV_ACCOUNTS, type DevAccount, OIDC_SCOPES, REGISTERED_SCOPES } from './people.ts'

const MAX_FORM_BYTES = 4096

/**
 * Serves `/interaction/<uid>`: GET shows the page, POST `account=<id>` (form-encoded) signs in and consents in one step, so that
 * a script needs no more than a cookie jar; POST `abort=1` goes back to the client with `access_denied`.
 */
export async function respondToInteraction(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const details = await provider.interactionDetails(request, response)
  const params = details.params as Readonly<Record<string, string | undefined>>
  const client = await provider.Client.find(params.client_id ?? '')
  if (request.method === 'GET') {
    const page = loginPage(client?.clientName ?? params.client_id ?? '', wantedScopes(params.scope))
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      // No form-action: browsers apply it to the redirect back to the client too.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    })
    response.end(page)
    return
  }
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'GET, POST' }).end()
    return
  }
  const form = await readForm(request)
  if (form === undefined) {
    response.writeHead(413, { connection: 'close' }).end()
    return
  }
  const account = DEV_ACCOUNTS.find(one => one.id === form.get('account'))
  if (form.has('abort') || account === undefined) {
    const error_description = form.has('abort')
      ? 'the user declined the sign-in'
      : 'the account does not exist'
    await provider.interactionFinished(request, response, { error: 'access_denied', error_description })
    return
  }
  const resource = (details.params as { resource?: string | string[] }).resource
  const grantId = await grantFor(provider, account, params, resource)
  await provider.interactionFinished(request, response, {
    login: { accountId: account.id },
    consent: { grantId },
  })
}

/** Grants what was asked for and the account may have; the rest is recorded as declined, else it would be asked again. */
async function grantFor(
  provider: Provider,
  account: DevAccount,
  params: Readonly<Record<string, string | undefined>>,
  resource: string | string[] | undefined,
): Promise<string> {
  const grant = new provider.Grant({ accountId: account.id, clientId: params.client_id ?? '' })
  // only public clients sign people in: those that registered themselves, or that a metadata document describes
  const allowed = new Set<string>(
    [...OIDC_SCOPES, ...account.scopes].filter(scope => REGISTERED_SCOPES.includes(scope)),
  )
  const resources = resource === undefined ? [] : [resource].flat()
  for (const scope of wantedScopes(params.scope)) {
    if (allowed.has(scope)) grant.addOIDCScope(scope)
    else grant.rejectOIDCScope(scope)
    for (const one of resources) {
      if (allowed.has(scope)) grant.addResourceScope(one, scope)
      else grant.rejectResourceScope(one, scope)
    }
  }
  return grant.save()
}

function wantedScopes(scope: string | undefined): readonly string[] {
  return (scope ?? '').split(' ').filter(one => one !== '')
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  // a response follows when it is too long
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_FORM_BYTES) return undefined
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}

function loginPage(clientName: string, scopes: readonly string[]): string {
  const accounts = DEV_ACCOUNTS.map(
    account =>
      `<button name="account" value="${account.id}"><b>${account.name}</b><br><small>${account.id} · ${account.scopes.join(', ')}</small></button>`,
  ).join('')
  const list = scopes.map(scope => `<li>${escapeHtml(scope)}</li>`).join('')
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Toolgate development sign-in</title>
<meta name="viewport" content="width=device-width"><style>body{font:16px system-ui;max-width:26rem;margin:3rem auto;padding:0 1rem}
button{display:block;width:100%;margin:.5rem 0;padding:.7rem;text-align:left;font:inherit}</style>
<h1>Development sign-in</h1><p><b>${escapeHtml(clientName)}</b> requests these scopes:</p><ul>${list}</ul><p>Continue as</p>
<form method="post">${accounts}</form><form method="post"><button name="abort" value="1">Decline</button></form></html>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
