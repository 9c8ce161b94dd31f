/** Builds the HTML of the page of connections, and of pages that lead to another page. */

/** A tool set that needs a connection of the user. */
export interface Connectable {
  readonly id: string
  readonly name: string
  /** Host of the authorization server. */
  readonly host: string
  /** What the client of the gateway needs there. */
  readonly redirectUri: string
  /** Unix ms; undefined: not connected. */
  readonly connectedAtMs: number | undefined
}

export interface PageMessage {
  readonly done?: string
  readonly failed?: string
}

interface PageParts {
  /** Address of the page, with a slash at its end. */
  readonly root: string
  /** Id of the tool set that a refusal has named; ''. */
  readonly wanted: string
  /** Absent: the caller has not signed in. */
  readonly user?: {
    readonly name: string
    readonly csrf: string
    readonly list: readonly Connectable[]
  }
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}' +
  'li{display:flex;gap:1rem;align-items:center;justify-content:space-between;padding:.75rem 0;border-bottom:1px solid #ddd}' +
  'ul{list-style:none;padding:0}button,.button{font:inherit;padding:.4rem .9rem;border:1px solid #1a1a1a;border-radius:.4rem;background:#fff;color:inherit;text-decoration:none;cursor:pointer}' +
  '.wanted{background:#fff7d6}small{color:#555}@media(prefers-color-scheme:dark){body,button,.button{background:#161616;color:#eee;border-color:#eee}small{color:#aaa}.wanted{background:#3a3310}}'

export function connectionsPage({ root, wanted, user }: PageParts): string {
  const back = `list?tool_set=${encodeURIComponent(wanted)}`
  const query = wanted === '' ? '' : `?return_to=${encodeURIComponent(back)}`
  const body =
    user === undefined
      ? `<p>Sign in to see the tool sets that need a connection to your account at another service.</p><p><a class="button" href="${escapeHtml(`${root}login${query}`)}">Sign in</a></p>`
      : `<p>Signed in as <b>${escapeHtml(user.name)}</b>.</p>${list(root, wanted, user.csrf, user.list)}
<form method="post" action="${escapeHtml(root)}logout"><button>Sign out</button></form>`
  return page('Connections', body)
}

/** A page with a link to another one, which the browser opens by itself unless something failed. */
export function waitPage(next: string, message: PageMessage): string {
  const refresh =
    message.failed === undefined ? `<meta http-equiv="refresh" content="0;url=${escapeHtml(next)}">` : ''
  return page(
    'Connections',
    `${said(message)}<p><a class="button" href="${escapeHtml(next)}">Continue</a></p>`,
    refresh,
  )
}

function list(root: string, wanted: string, csrf: string, entries: readonly Connectable[]): string {
  if (entries.length === 0) return '<p>No tool set needs a connection.</p>'
  const rows = entries.map(({ id, name, host, redirectUri, connectedAtMs }) => {
    const isConnected = connectedAtMs !== undefined
    const state = isConnected
      ? `connected since ${new Date(connectedAtMs).toISOString().slice(0, 10)}`
      : `not connected; redirect address ${redirectUri}`
    const action = isConnected ? 'disconnect' : 'connect'
    return `<li${id === wanted ? ' class="wanted"' : ''}><span><b>${escapeHtml(name)}</b><br><small>${escapeHtml(`${host}, ${state}`)}</small></span>
<form method="post" action="${escapeHtml(root)}${action}"><input type="hidden" name="csrf" value="${escapeHtml(csrf)}"><input type="hidden" name="id" value="${escapeHtml(id)}"><button>${isConnected ? 'Disconnect' : 'Connect'}</button></form></li>`
  })
  return `<ul>${rows.join('\n')}</ul>`
}

function said(message: PageMessage | undefined): string {
  const text = message?.failed ?? message?.done
  return text === undefined ? '' : `<p role="status">${escapeHtml(text)}</p>`
}

function page(title: string, body: string, head = ''): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">${head}<title>${title}</title><style>${STYLE}</style></head><body><h1>${title}</h1>${body}</body></html>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`)
}
