/** Catalogue: APIs, subscriptions, webhooks, consumers and plans of the control plane. It chooses the view and loads nothing. */
import { Page, Tabs } from '../../components/layout.tsx'
import { segments } from '../../state/router.ts'
import { Apis } from './apis.tsx'
import { Consumers } from './consumers.tsx'
import { Plans } from './plans.tsx'
import { Subscriptions } from './subscriptions.tsx'
import { WebhookDeliveries, Webhooks } from './webhooks.tsx'

const TABS = [
  { to: 'catalogue/apis', title: 'APIs' },
  { to: 'catalogue/subscriptions', title: 'Subscriptions' },
  { to: 'catalogue/webhooks', title: 'Webhooks' },
  { to: 'catalogue/consumers', title: 'Consumers' },
  { to: 'catalogue/plans', title: 'Plans' },
]

const VIEWS = { subscriptions: Subscriptions, consumers: Consumers, plans: Plans, apis: Apis } as const

export function Catalogue() {
  const [, view = 'apis', id] = segments.value
  const View = VIEWS[view as keyof typeof VIEWS] ?? Apis
  return (
    <Page title="Catalog" lead="APIs, subscriptions, webhooks, consumers and plans in the control plane.">
      <Tabs
        label="Catalog"
        tabs={TABS}
        current={view === 'webhooks' ? 'catalogue/webhooks' : `catalogue/${view}`}
      />
      {view !== 'webhooks' ? <View /> : id === undefined ? <Webhooks /> : <WebhookDeliveries id={id} />}
    </Page>
  )
}
