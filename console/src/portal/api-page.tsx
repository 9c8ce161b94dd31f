/** One API: what it is, how to subscribe, its reference, a trial, its tools for agents, and its changes. The part that is shown is in the address. */
import type { ComponentChildren } from 'preact'
import { ApiError } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { List } from '../api/types.ts'
import { Empty, Failure, Loaded, Page, Section, Tabs } from '../components/layout.tsx'
import { Table } from '../components/table.tsx'
import { Ago, Copyable, Facts, State, Status } from '../components/text.tsx'
import { ClientEntry } from '../pages/connect-clients.tsx'
import { href, segments } from '../state/router.ts'
import { may, session, user } from '../state/session.ts'
import {
  type CatalogApi,
  type CatalogProduct,
  publicProducts,
  readApi,
  tenantProducts,
} from './catalog-api.ts'
import { type ApiDocument, readDocument } from './document.ts'
import { Reference } from './reference.tsx'
import { SIGN_IN, signInHref } from './sign-in.ts'
import { Subscribe } from './subscribe.tsx'
import { TryIt } from './try-it.tsx'

export function ApiPage({ id }: { readonly id: string }) {
  const api = useResource(() => readApi(id), [id, user.value?.subject])
  const error = api.error.value
  if (error instanceof ApiError && error.status === 404)
    return (
      <Page title="API">
        <Empty title="The API does not exist, or you may not see it">
          {user.value === undefined ? (
            <a href={signInHref()}>Sign in to see the APIs of your tenant</a>
          ) : (
            <a href={href('')}>Open the catalog</a>
          )}
        </Empty>
      </Page>
    )
  return api.value.value === undefined ? (
    <Page title="API">
      <Loaded of={api}>{() => null}</Loaded>
    </Page>
  ) : (
    <Shown api={api.value.value} />
  )
}

function Shown({ api }: { readonly api: CatalogApi }) {
  const base = `apis/${api.id}`
  const part = segments.value[segments.value[0] === SIGN_IN ? 3 : 2] ?? ''
  const tabs = [
    { to: base, title: 'Overview' },
    ...(api.spec == null
      ? []
      : [
          { to: `${base}/reference`, title: 'Reference' },
          { to: `${base}/try`, title: 'Try it' },
        ]),
    { to: `${base}/tools`, title: 'Tools for agents' },
    { to: `${base}/changes`, title: 'Changes' },
  ]
  return (
    <Page
      title={api.name}
      lead={`Version ${api.version} by ${api.tenant}`}
      actions={<State of={api.status} />}
    >
      <Ending of={api} />
      <Tabs label="Parts of the API" tabs={tabs} current={part === '' ? base : `${base}/${part}`} />
      {part === '' && <Overview api={api} />}
      {part === 'reference' && (
        <WithDocument api={api}>{document => <Reference document={document} apiId={api.id} />}</WithDocument>
      )}
      {part === 'try' && (
        <WithDocument api={api}>{document => <TryIt document={document} api={api} />}</WithDocument>
      )}
      {part === 'tools' && <Tools api={api} />}
      {part === 'changes' && <Changes api={api} />}
    </Page>
  )
}

/** The announced end of the API. */
function Ending({ of: { status, deprecated_at, deprecation } }: { readonly of: CatalogApi }) {
  if (status !== 'deprecated' && deprecation === null) return null
  const { sunset_at = null, after_sunset, link = null } = deprecation ?? {}
  return (
    <p class="notice warn">
      {deprecated_at === null ? (
        'The end of this version is announced. '
      ) : (
        <>
          This version is deprecated (<Ago at={deprecated_at} />
          ).{' '}
        </>
      )}
      {sunset_at === null ? (
        'No end date is set.'
      ) : (
        <>
          It ends <Ago at={sunset_at} />
          {after_sunset === 'refuse' && '; calls are refused from then on'}.
        </>
      )}{' '}
      {link !== null && <a href={link}>Read more</a>}
    </p>
  )
}

function WithDocument({
  api,
  children,
}: {
  readonly api: CatalogApi
  readonly children: (document: ApiDocument) => ComponentChildren
}) {
  const document = useResource(() => readDocument(api.spec), [api.id, api.updated_at])
  if (api.spec == null) return <Empty title="The API has no OpenAPI document" />
  if (document.error.value !== undefined) return <Failure error={document.error.value} />
  return <Loaded of={document}>{children}</Loaded>
}

function Overview({ api }: { readonly api: CatalogApi }) {
  return (
    <div class="columns">
      <Section title="About">
        <div class="card">
          <p class="api-text">{api.description === '' ? 'No description.' : api.description}</p>
          <Facts
            rows={[
              ['Address', <Copyable text={api.public_url} label="the address" />],
              [
                'Access',
                api.auth_required ? 'with a key (header X-API-Key) or a token' : 'open to every caller',
              ],
              ['Version', api.version],
              ['Owner', api.tenant],
              ['Published', <Ago at={api.created_at} />],
              ['Changed', <Ago at={api.updated_at} />],
            ]}
          />
        </div>
      </Section>
      <Section title="Subscribe">
        <Subscribe api={api} />
        {(user.value === undefined || may('portal.list')) && <PartOf api={api} />}
      </Section>
    </div>
  )
}

/** Products with the API: one subscription opens several. */
function PartOf({ api: { id } }: { readonly api: CatalogApi }) {
  const search = '?limit=100&sort=name'
  const isVisitor = user.value === undefined
  const list = useResource<List<CatalogProduct>>(
    () => (isVisitor ? publicProducts(search) : tenantProducts(search)),
    [id, user.value?.subject],
  )
  const items = (list.value.value?.items ?? []).filter(({ apis }) => apis.some(api => api.id === id))
  if (items.length === 0) return null
  return (
    <div class="card">
      <p>The API is part of these products. A subscription to a product covers all APIs of that product.</p>
      <ul>
        {items.map(product => (
          <li key={product.id}>
            <a href={href(`products/${product.id}`)}>{product.name}</a>
          </li>
        ))}
      </ul>
    </div>
  )
}

function Tools({ api }: { readonly api: CatalogApi }) {
  const tools = api.tools ?? []
  if (tools.length === 0)
    return (
      <Empty title="The API has no tools">
        The operations in the OpenAPI document of an API become tools for agents.
      </Empty>
    )
  return (
    <div class="columns">
      <Section title="Tools">
        <Table
          caption="Tools"
          rows={tools}
          keyOf={({ name }) => name}
          columns={[
            {
              title: 'Tool',
              cell: tool => (
                <>
                  <code>{tool.name}</code>
                  <span class="sub">{tool.description}</span>
                </>
              ),
            },
            {
              title: 'Effect',
              cell: tool => (
                <Status tone={tool.read_only ? 'good' : 'plain'}>
                  {tool.read_only ? 'reads' : 'changes'}
                </Status>
              ),
            },
          ]}
        />
      </Section>
      <Section title="Connect an agent">
        <div class="card">
          <p>
            Agents call the tools over the Model Context Protocol (MCP), with an access token for your tenant.
          </p>
          <Facts
            rows={[
              [
                'MCP endpoint',
                <Copyable text={`${session.value!.gateway_url}/mcp`} label="the MCP endpoint" />,
              ],
            ]}
          />
          <ClientEntry url={`${session.value!.gateway_url}/mcp`} />
        </div>
      </Section>
    </div>
  )
}

type Change = NonNullable<CatalogApi['changelog']>[number]

function textOf({ kind, from, to }: Change): string {
  if (kind === 'published') return `Published${to === null ? '' : ` as version ${to}`}`
  if (kind === 'version') return `Version ${from} became ${to}`
  if (kind === 'status') return `Status ${from} became ${to}`
  return kind === 'document' ? 'The OpenAPI document changed' : 'The description changed'
}

function Changes({ api }: { readonly api: CatalogApi }) {
  const changes = api.changelog ?? []
  if (changes.length === 0) return <Empty title="No change is recorded" />
  return (
    <ol class="changes">
      {changes.map(change => (
        <li key={`${change.at} ${change.kind}`}>
          <Ago at={change.at} />
          <span>{textOf(change)}</span>
        </li>
      ))}
    </ol>
  )
}
