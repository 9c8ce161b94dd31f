/** One product: its APIs, the plan that all of their calls share, and the subscriptions to it. It shows nothing to visitors. */
import { ApiError, control } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import type { Plan, PortalProduct } from '../api/types.ts'
import { Empty, Loaded, Page, Section } from '../components/layout.tsx'
import { Table } from '../components/table.tsx'
import { Facts } from '../components/text.tsx'
import { href } from '../state/router.ts'
import { crossesTenants, user } from '../state/session.ts'
import { ApplicationsOf, limitsOf } from './subscribe.tsx'

export function ProductPage({ id }: { readonly id: string }) {
  const product = useResource(
    () => control<PortalProduct>(`portal/products/${encodeURIComponent(id)}`),
    [id, user.value!.subject],
  )
  const error = product.error.value
  if (error instanceof ApiError && error.status === 404)
    return (
      <Page title="Product">
        <Empty title="The product does not exist, or you may not see it">
          <a href={href('')}>Open the catalog</a>
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

function Shown({ product }: { readonly product: PortalProduct }) {
  const { name, tenant, tenant_id, description, apis } = product
  const isOwn = tenant === user.value!.tenant || tenant_id === user.value!.tenant
  return (
    <Page title={name} lead={`Product by ${tenant}`}>
      <div class="columns">
        <Section title="About">
          <div class="card">
            <p class="api-text">{description === '' ? 'No description.' : description}</p>
            <Terms product={product} />
          </div>
        </Section>
        <Section title="Subscribe">
          {isOwn ? (
            <ApplicationsOf target={{ name, product_id: product.id }} />
          ) : (
            <p class="card">
              The product belongs to the tenant {tenant}. Users of that tenant can subscribe to it.
              {crossesTenants.value && ' The console has its subscriptions.'}
            </p>
          )}
        </Section>
      </div>
      <Section title="APIs of the product">
        <Table
          caption="APIs of the product"
          rows={apis}
          keyOf={api => api.id}
          empty={<Empty title="The catalog shows none of its APIs" />}
          columns={[
            { title: 'API', cell: api => <a href={href(`apis/${api.id}`)}>{api.name}</a> },
            { title: 'Version', cell: api => api.version },
          ]}
        />
      </Section>
    </Page>
  )
}

function Terms({ product: { plan, apis } }: { readonly product: PortalProduct }) {
  const found = useResource(() => control<Plan>(`plans/${encodeURIComponent(plan)}`), [plan])
  const known = found.value.value
  return (
    <Facts
      rows={[
        ['APIs', String(apis.length)],
        ['Plan', known?.name ?? plan],
        ['Limits', known === undefined ? '…' : `${limitsOf(known)}; all APIs count together`],
        ['Approval', known === undefined ? '…' : known.requires_approval ? 'by the owner' : 'at once'],
      ]}
    />
  )
}
