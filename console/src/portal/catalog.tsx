/** The catalog: APIs and products of the user's tenant, and public ones. The search is in the address. */
import { queryOf } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { TextFilter } from '../components/filters.tsx'
import { Empty, Loaded, Page, Section } from '../components/layout.tsx'
import { Pager, pageOf } from '../components/pager.tsx'
import { Ago, State } from '../components/text.tsx'
import { href, query } from '../state/router.ts'
import { crossesTenants, may, session, user } from '../state/session.ts'
import {
  type CatalogApi,
  type CatalogProduct,
  isOwnTenant,
  publicApis,
  publicProducts,
  tenantApis,
  tenantProducts,
} from './catalog-api.ts'

export function Catalog() {
  const q = query.value.get('q')
  const { title, lead } = session.value!.site!
  return (
    <Page title={title} lead={lead} actions={<TextFilter name="q" label="Search" />}>
      {user.value !== undefined && may('portal.list') && <OfTenant q={q} />}
      {user.value !== undefined && may('portal.list') && <Products q={q} />}
      {/* for a user of every tenant they are among the others */}
      {!(user.value !== undefined && crossesTenants.value) && (
        <>
          <Public q={q} />
          <PublicProducts q={q} />
        </>
      )}
    </Page>
  )
}

function OfTenant({ q }: { readonly q: string | null }) {
  const search = queryOf({ q, limit: 100, sort: 'name' })
  const list = useResource(() => tenantApis(search), [search, user.value?.subject])
  const none = crossesTenants.value
    ? ['No tenant publishes an API', 'No API found']
    : ['Your tenant publishes no API', 'No API found in your tenant']
  return (
    <Section title={crossesTenants.value ? 'APIs of all tenants' : `APIs of ${user.value!.tenant}`}>
      <Loaded of={list}>
        {found =>
          found.items.length === 0 ? (
            <Empty title={none[q === null ? 0 : 1]!} />
          ) : (
            <>
              <Cards of={found.items} />
              {found.total > found.items.length && (
                <p class="muted">
                  {`These are the first ${found.items.length} of ${found.total} APIs. Search for the others.`}
                </p>
              )}
            </>
          )
        }
      </Loaded>
    </Section>
  )
}

/** Nothing where the tenant offers none: most have none. */
function Products({ q }: { readonly q: string | null }) {
  const search = queryOf({ q, limit: 100, sort: 'name' })
  const list = useResource(() => tenantProducts(search), [search, user.value?.subject])
  return <ProductCards title="Products" of={list.value.value?.items ?? []} />
}

/** Nothing where no product has public APIs. */
function PublicProducts({ q }: { readonly q: string | null }) {
  const search = queryOf({ q, limit: 100, sort: 'name' })
  const list = useResource(() => publicProducts(search), [search])
  const items = (list.value.value?.items ?? []).filter(product => !isOwnTenant(product))
  return <ProductCards title="Public products" of={items} />
}

function ProductCards({ title, of }: { readonly title: string; readonly of: readonly CatalogProduct[] }) {
  if (of.length === 0) return null
  return (
    <Section title={title}>
      <ul class="api-cards">
        {of.map(product => (
          <li key={product.id} class="card">
            <h3>
              <a href={href(`products/${product.id}`)}>{product.name}</a>
            </h3>
            <p class="api-text">{product.description === '' ? 'No description.' : product.description}</p>
            <p class="api-facts">
              <span>{product.apis.length === 1 ? '1 API' : `${product.apis.length} APIs`}</span>
              <span>plan {product.plan}</span>
              <span>{product.tenant}</span>
            </p>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function Public({ q }: { readonly q: string | null }) {
  const search = queryOf({ q, page: pageOf(), sort: 'name' })
  const list = useResource(() => publicApis(search), [search])
  return (
    <Section title="Public APIs">
      <Loaded of={list}>
        {found => {
          const items = found.items.filter(api => !isOwnTenant(api))
          if (items.length === 0)
            return (
              <Empty title={q === null ? 'No API is public' : 'No public API found'}>
                {user.value === undefined && 'Sign in to see the APIs of your tenant.'}
              </Empty>
            )
          return (
            <>
              <Cards of={items} />
              {found.total_pages > 1 && <Pager of={found} />}
            </>
          )
        }}
      </Loaded>
    </Section>
  )
}

function Cards({ of }: { readonly of: readonly CatalogApi[] }) {
  return (
    <ul class="api-cards">
      {of.map(api => (
        <li key={api.id} class="card">
          <h3>
            <a href={href(`apis/${api.id}`)}>{api.name}</a>
          </h3>
          <p class="api-text">{api.description === '' ? 'No description.' : api.description}</p>
          <p class="api-facts">
            <State of={api.status} />
            <span>{api.version}</span>
            <span>{api.tenant}</span>
            <span>
              changed <Ago at={api.updated_at} />
            </span>
          </p>
        </li>
      ))}
    </ul>
  )
}
