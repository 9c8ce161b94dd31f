/** Serves the pages `/docs` and `/redoc` with files of installed packages, and `/`, which leads to pages. It does not generate the OpenAPI document. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Hono } from 'hono'
import { linksTo, NOT_STORED, startPage } from '../../../net/server/pages.ts'
import type { ControlPlaneOptions } from '../options.ts'
import { BASE } from './mount.ts'

const require = createRequire(import.meta.url)

const SCRIPT_TYPE = 'text/javascript; charset=utf-8'

/** Path below the page → file of a package. */
const ASSETS = {
  '/docs/swagger-ui.css': ['swagger-ui-dist/swagger-ui.css', 'text/css; charset=utf-8'],
  '/docs/swagger-ui-bundle.js': ['swagger-ui-dist/swagger-ui-bundle.js', SCRIPT_TYPE],
  '/redoc/redoc.standalone.js': ['redoc/bundles/redoc.standalone.js', SCRIPT_TYPE],
} as const

/**
 * Requests go to the address under which the page was opened, whatever name, port or path prefix a proxy gives it: the browser
 * blocks those to the public address when that is another origin.
 */
function script(show: string): string {
  return `fetch('openapi.json').then(response => response.json()).then(spec => {
  const base = new URL('.', location.href).pathname.replace(/\\/(v1\\/)?$/, '')
  spec.servers = [{ url: location.origin + base + '${BASE}' }]
  ${show}
})`
}

const SCRIPTS = {
  '/docs/start.js': script(
    `SwaggerUIBundle({ spec, dom_id: '#page', deepLinking: true, persistAuthorization: false, validatorUrl: null })`,
  ),
  '/redoc/start.js': script(
    `Redoc.init(spec, { hideHostname: false, disableSearch: false }, document.getElementById('page'))`,
  ),
} as const

/** Blocks requests to other hosts; both libraries need inline styles. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const DOCS = page('docs', '<link rel="stylesheet" href="docs/swagger-ui.css">', 'swagger-ui-bundle.js')
/** Redoc shows a logo from its own site, which the policy above blocks. */
const REDOC = page('redoc', '<style>img[alt="redocly logo"] { display: none }</style>', 'redoc.standalone.js')

function page(folder: string, head: string, library: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Toolgate control plane</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
<div id="page"></div>
<script src="${folder}/${library}"></script>
<script src="${folder}/start.js"></script>
</body>
</html>`
}

/** GET /: leads a browser to the first of the pages, and other clients to all of them. */
export function mountRoot(app: Hono, { pages, apiUrl }: Pick<ControlPlaneOptions, 'pages' | 'apiUrl'>): void {
  const shown = { ...pages, docs: './docs' }
  const links = linksTo({ ...shown, openapi: './openapi.json' }, apiUrl)
  app.get('/', context => {
    context.header(...NOT_STORED)
    const page = startPage(context.req.header('accept') ?? '', shown)
    return page === undefined ? context.json(links) : context.redirect(page)
  })
}

/** @param base '' or a path prefix */
export function mountPages(app: Hono, base: string): void {
  for (const [path, html] of [
    ['/docs', DOCS],
    ['/redoc', REDOC],
  ] as const) {
    app.get(base + path, context =>
      context.html(html, 200, {
        'content-security-policy': CONTENT_SECURITY_POLICY,
        'referrer-policy': 'same-origin',
      }),
    )
    // names below the page are relative to it
    app.get(`${base}${path}/`, context => context.redirect(`..${path}`, 308))
  }
  for (const [path, script] of Object.entries(SCRIPTS)) {
    app.get(base + path, context => context.body(script, 200, { 'content-type': SCRIPT_TYPE }))
  }
  for (const [path, [file, type]] of Object.entries(ASSETS)) {
    app.get(base + path, async context => {
      const bytes = await readFile(require.resolve(file))
      return context.body(new Uint8Array(bytes), 200, {
        'content-type': type,
        'cache-control': 'public, max-age=3600',
      })
    })
  }
}
