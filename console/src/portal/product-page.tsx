/** One product: its APIs, the plan that all of their calls share, and the subscriptions to it. It shows visitors no limits and no subscription. */
import { ApiError, control } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { Plan } from '../api/types.ts'
import { Empty, Loaded, Page, Section } from '../components/layout.tsx'
import { Table } from '../components/table.tsx'
import { Facts } from '../components/text.tsx'
import { href } from '../state/router.ts'
import { crossesTenants, user } from '../state/session.ts'
import { type CatalogProduct, isOwnTenant, readProduct } from './catalog-api.ts'
import { signInHref } from './sign-in.ts'
import { ApplicationsOf, limitsOf, SignInToSubscribe } from './subscribe.tsx'

export function ProductPage({ id }: { readonly id: string }) {
  const product = useResource(() => readProduct(id), [id, user.value?.subject])
  const error = product.error.value
  if (error instanceof ApiError && error.status === 404)
    return (
      <Page title="Product">
        <Empty title="The product does not exist, or you may not see it">
          {user.value === undefined ? (
            <a href={signInHref()}>Sign in to see the products of your tenant</a>
          ) : (
            <a href={href('')}>Open the catalog</a>
          )}
        </Empty>
      </Page>
    )
  return product.value.value === undefined ? (
    <Page title="Product">
      <Loaded of={product}>{() => null}</Loaded>
    </Page>
  ) : (
    <Shown product={product.value.value} />
  )
}

function Shown({ product }: { readonly product: CatalogProduct }) {
  const { name, tenant, description, apis } = product
  return (
    <Page title={name} lead={`Product by ${tenant}`}>
      <div class="columns">
        <Section title="About">
          <div class="card">
            <p class="api-text">{description === '' ? 'No description.' : description}</p>
            {user.value === undefined ? <PublicTerms product={product} /> : <Terms product={product} />}
          </div>
        </Section>
        <Section title="Subscribe">
          <Subscribe product={product} />
        </Section>
      </div>
      <Section title="APIs of the product">
        <Table
          caption="APIs of the product"
          rows={apis}
          keyOf={api => api.id}
          empty={<Empty title="No API of the product is visible in the catalog" />}
          columns={[
            { title: 'API', cell: api => <a href={href(`apis/${api.id}`)}>{api.name}</a> },
            { title: 'Version', cell: api => api.version },
          ]}
        />
      </Section>
    </Page>
  )
}

function Subscribe({ product }: { readonly product: CatalogProduct }) {
  const { id, name, tenant } = product
  if (user.value === undefined)
    return <SignInToSubscribe text="One subscription covers all APIs of the product." />
  if (isOwnTenant(product)) return <ApplicationsOf target={{ name, product_id: id }} />
  return (
    <p class="card">
      The product belongs to the tenant {tenant}. Users of that tenant can subscribe to it.
      {crossesTenants.value && ' The console shows the subscriptions to the product.'}
    </p>
  )
}

/** The limits of a plan are for users. */
function PublicTerms({ product: { plan, apis } }: { readonly product: CatalogProduct }) {
  return (
    <Facts
      rows={[
        ['Public APIs', String(apis.length)],
        ['Plan', plan],
      ]}
    />
  )
}

function Terms({ product: { plan, apis } }: { readonly product: CatalogProduct }) {
  const found = useResource(() => control<Plan>(`plans/${encodeURIComponent(plan)}`), [plan])
  const known = found.value.value
  return (
    <Facts
      rows={[
        ['APIs', String(apis.length)],
        ['Plan', known?.name ?? plan],
        ['Limits', known === undefined ? '…' : `${limitsOf(known)}; shared by all APIs`],
        ['Approval', known === undefined ? '…' : known.requires_approval ? 'by the owner' : 'not required'],
      ]}
    />
  )
}
