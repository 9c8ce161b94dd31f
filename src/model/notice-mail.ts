/** The subject and body of notices that are sent by mail. */
import type { NewEvent, NoticeKind } from './event.ts'

interface NoticeText {
  readonly subject: string
  /** Plain text. */
  readonly body: string
}

/** Characters of a value, which a caller may have chosen, and of a subject. */
const MAX_VALUE = 200

const SUBJECTS: { readonly [kind in NoticeKind]: (value: (name: string) => string) => string } = {
  'subscription.expiring': value => `Subscription to ${value('api_name')} expires on ${value('expires_at')}`,
  'subscription.key_expiring': value => `API key ${value('key_prefix')} expires on ${value('expires_at')}`,
  'subscription.quota_warning': value =>
    `${value('threshold')} % of the quota for ${value('api_name')} is used (window: ${value('window')})`,
  'subscription.quota_exhausted': value =>
    `The quota for ${value('api_name')} is used up (window: ${value('window')})`,
  'api.definitions_changed': value =>
    `The MCP server of the API ${value('api_name')} changed the definitions of its tools`,
  'webhook.failing': value => `Deliveries to the webhook ${value('webhook_name')} are failing`,
}

const ADVICE: { readonly [kind in NoticeKind]: string } = {
  'subscription.expiring':
    'The gateway refuses calls under this subscription after the expiry date. Ask the owner of the API to extend the subscription.',
  'subscription.key_expiring':
    'The gateway refuses calls with this key after the expiry date. Create another key before that date.',
  'subscription.quota_warning': 'Calls beyond the limit are refused until the quota window ends.',
  'subscription.quota_exhausted': 'Calls are refused until the quota window ends or the limit is raised.',
  'api.definitions_changed':
    'Gateways serve the accepted definitions until an administrator accepts the changes. Compare them on the page of the API in the console.',
  'webhook.failing':
    'Check the server that receives this webhook (host and error are below), then retry the failed deliveries.',
}

/** @param tenant name of the tenant */
export function noticeText(kind: NoticeKind, data: NewEvent['data'], tenant: string): NoticeText {
  const value = (name: string): string => oneLine(data[name])
  const lines = Object.keys(data).map(name => `${name}: ${value(name)}`)
  return {
    subject: oneLine(`[${tenant}] ${SUBJECTS[kind](value)}`),
    body: [ADVICE[kind], '', `tenant: ${oneLine(tenant)}`, ...lines, '', `event: ${kind}`, ''].join('\n'),
  }
}

/** Without control characters and line separators: no value can begin a line or a header. */
function oneLine(value: unknown): string {
  const text = value === null || value === undefined ? '-' : String(value)
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_VALUE)
}
