/** Creates, changes and deletes webhooks of a configuration, and compares their secrets with the values sent. `services/webhooks.ts` writes webhooks. */

import { customHeaders, webhookSecret } from '../../../../model/schema/webhook.ts'
import { z } from '../../../../model/schema/zod.ts'
import type { Webhook } from '../../../../model/webhook.ts'
import type { Transaction } from '../../../store/store.ts'
import { type FieldFault, invalid } from '../../http/problem.ts'
import { validateInput } from '../../http/validate.ts'
import { createWebhook, deleteWebhook, patchWebhook, requireReachable } from '../webhooks.ts'
import type { Write } from './change-context.ts'
import type { LiveResource } from './live.ts'
import type { Secrets } from './secrets.ts'

interface Reference {
  readonly from: string
}

interface WebhookFields {
  readonly url: string
  readonly events: Webhook['events']
  readonly enabled: boolean
  readonly secret: Reference | null
  readonly custom_headers: { readonly [name: string]: Reference }
}

const values = z.object({ secret: webhookSecret.optional(), custom_headers: customHeaders })

/** Fields of the webhook whose stored value is not the one that the caller sent. */
export async function changedSecrets(
  tx: Transaction,
  { row, fields }: Pick<LiveResource, 'row' | 'fields'>,
  secrets: Secrets,
): Promise<readonly ('secret' | 'custom_headers')[]> {
  const { secret, custom_headers: headers } = fields as unknown as WebhookFields
  const given = Object.entries(headers).flatMap(([name, { from }]) => {
    const value = secrets.given(from)
    return value === undefined ? [] : [[name, value] as const]
  })
  const sent = secret === null ? undefined : secrets.given(secret.from)
  const held = await tx.webhooks.holds(row.id, { secret: sent, headers: Object.fromEntries(given) })
  return [...(held.secret ? [] : ['secret' as const]), ...(held.headers ? [] : ['custom_headers' as const])]
}

export async function createConfiguredWebhook(write: Write): Promise<void> {
  const { tx, tenant, change, keysOf } = write
  const resolved = resolve(write, true, true)
  if (resolved === undefined) return
  const { secret, ...fields } = resolved
  await createWebhook(tx, tenant!.id, { ...fields, name: change.resource.key, keysOf }, secret)
}

export async function updateConfiguredWebhook(write: Write, id: string, ifMatch: string): Promise<void> {
  const changed = new Set(write.change.fields.map(({ field }) => field))
  const wanted = write.change.resource.fields as unknown as WebhookFields
  const resolved = resolve(write, changed.has('secret'), changed.has('custom_headers'))
  if (resolved === undefined) return
  const { secret, customHeaders: headers, ...fields } = resolved
  const newSecret = changed.has('secret') ? (wanted.secret === null ? null : secret) : undefined
  const patch = { ...fields, customHeaders: changed.has('custom_headers') ? headers : undefined }
  await patchWebhook(write.tx, id, patch, newSecret, write.keysOf, ifMatch)
}

export async function deleteConfiguredWebhook({ tx }: Write, id: string): Promise<void> {
  await deleteWebhook(tx, id)
}

/**
 * @returns undefined when a value is missing, which `secrets` has noted
 * @throws Problem validation_error for values that a webhook cannot have
 */
function resolve({ change, secrets, services }: Write, withSecret: boolean, withHeaders: boolean) {
  const {
    url,
    events,
    enabled,
    secret,
    custom_headers: headers,
  } = change.resource.fields as unknown as WebhookFields
  requireReachable(url, services)
  const names = Object.entries(headers).map(([name, { from }]) => [`custom_headers.${name}`, from])
  const secretNames = Object.fromEntries([...names, ...(secret === null ? [] : [['secret', secret.from]])])
  const found: Record<string, string | undefined> = {}
  if (withHeaders) for (const [name, { from }] of Object.entries(headers)) found[name] = secrets.needed(from)
  const secretValue = withSecret && secret !== null ? secrets.needed(secret.from) : undefined
  const isMissing = Object.values(found).includes(undefined)
  if (isMissing || (withSecret && secret !== null && secretValue === undefined)) return undefined
  const checked = validateInput(values, { secret: secretValue, custom_headers: found }, 'body')
  if (!checked.ok) throw invalid(checked.faults.map(fault => below(change.path, fault)))
  return {
    url,
    events,
    enabled,
    secretNames,
    secret: checked.value.secret,
    customHeaders: checked.value.custom_headers,
  }
}

function below(path: string, { field, message }: FieldFault): FieldFault {
  return { field: `${path}/${field}`, message }
}
