/** The schema of a configuration tree, and the conversion between tree and resources. */
import { createHash } from 'node:crypto'
import type { Json } from '../../../base/json/json-schema.ts'
import { canonicalJson } from '../../../link/document.ts'
import { API_STATUSES } from '../../../model/api.ts'
import { pathOf, type Resource, type ResourceFields } from '../../../model/configuration.ts'
import { apiAuthorities, newApiFields } from '../../../model/schema/api.ts'
import { changedBy } from '../../../model/schema/authority.ts'
import { consumerAuthorities, consumerFields } from '../../../model/schema/consumer.ts'
import { textField, withDefaults, word } from '../../../model/schema/fields.ts'
import { newPlanFields, planAuthorities, planSlug } from '../../../model/schema/plan.ts'
import { apisOfProduct, newProductFields, productAuthorities } from '../../../model/schema/product.ts'
import {
  adminEmail,
  DEFAULT_REGION,
  region,
  tenantName,
  tenantSettings,
  tier,
} from '../../../model/schema/tenant.ts'
import { newWebhookFields, webhookAuthorities, webhookName } from '../../../model/schema/webhook.ts'
import { z } from '../../../model/schema/zod.ts'

export const CONFIGURATION_VERSION = 'toolgate.dev/v1'
/** Owner of resources in trees that name none. */
export const DEFAULT_OWNER = 'default'

const secretName = z
  .string()
  .regex(
    /^[A-Z][A-Z0-9_]{0,299}$/,
    'must be the name of an environment variable: at most 300 capital letters, digits and "_", beginning with a letter.',
  )
const reference = z.strictObject({ from: secretName }).openapi('SecretReference', {
  description:
    'Name of the environment variable from which `toolgate config apply` reads the secret value. The configuration contains only this name; a request contains the value in `secrets`.',
})

const { path: apiPath, ...apiWithoutPath } = newApiFields

const plan = z.strictObject(newPlanFields).openapi(changedBy(planAuthorities))
const api = z
  .strictObject({ ...apiWithoutPath, status: word(API_STATUSES).default('active') })
  .openapi(changedBy(apiAuthorities))
/** A path, with the version where the path has several. */
const apiKey = z
  .string()
  .max(306, 'must have at most 306 characters.')
  .refine(
    key => apiPath.safeParse(key.split('@')[0]).success,
    'must be a path such as "/orders", or a path and a version such as "/orders@v2".',
  )
  .openapi({ maxLength: 306 })

type TreeApi = z.output<typeof api>

/** The version in the key is that of the API. */
function checkVersions(apis: { readonly [key: string]: TreeApi }, context: z.RefinementCtx): void {
  for (const [key, { version, versioning }] of Object.entries(apis)) {
    const [, named] = key.split('@')
    const fault = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [key, field], message })
    if (named !== undefined && versioning === null)
      fault('versioning', 'is required, because the key of the API contains a version.')
    else if (named === undefined && versioning !== null)
      fault('versioning', `requires a key that contains the version: "${key}@${version}".`)
    else if (named !== undefined && named !== version)
      fault('version', `must be "${named}", as in the key of the API.`)
  }
}

const product = z
  .strictObject({
    ...newProductFields,
    apis: apisOfProduct(
      apiKey,
      'must be a list of keys under apis of the same tenant, such as "/orders".',
      'APIs of the same tenant, by their keys under `apis`.',
    ),
  })
  .openapi(changedBy({ ...productAuthorities, apis: productAuthorities.api_ids }))
const consumer = z
  .strictObject({
    ...withDefaults(consumerFields, { plan: null, notes: '' }),
    name: consumerFields.name
      .optional()
      .openapi({ description: 'Name of the consumer. Absent: the subject.' }),
    blocked: z.boolean('must be true or false.').default(false).openapi({
      description: 'true: the gateways refuse every call from the consumer.',
    }),
  })
  .openapi(changedBy({ ...consumerAuthorities, blocked: consumerAuthorities.status }))
const webhook = z
  .strictObject({
    ...newWebhookFields,
    secret: reference.nullable().default(null),
    custom_headers: z.record(z.string(), reference).default({}),
  })
  .openapi(changedBy(webhookAuthorities))
const inTenant = {
  plans: z.record(planSlug, plan).default({}),
  apis: z.record(apiKey, api).superRefine(checkVersions).default({}),
  products: z.record(planSlug, product).default({}),
  consumers: z.record(textField(255), consumer).default({}),
  webhooks: z.record(webhookName, webhook).default({}),
}
const declared = {
  region,
  admin_email: adminEmail.nullable(),
  suspended: z.boolean('must be true or false.'),
  settings: tenantSettings,
}
const declaredTenant = z.object({
  tier,
  region: declared.region.default(DEFAULT_REGION),
  admin_email: declared.admin_email.default(null),
  suspended: declared.suspended.default(false),
  settings: declared.settings.default({}),
})
const tenant = z
  .strictObject({ tier: tier.optional(), ...z.object(declared).partial().shape, ...inTenant })
  .superRefine((value, context) => {
    for (const field of Object.keys(declared) as (keyof typeof declared)[])
      if (value.tier === undefined && value[field] !== undefined)
        context.addIssue({
          code: 'custom',
          path: [field],
          message: 'requires tier. Add tier to declare the tenant.',
        })
  })
  .openapi({
    description:
      'With `tier`, the tenant is a resource of the tree. Without `tier`, the tenant must exist already.',
  })

export const ownerName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'must consist of 1 to 63 characters a-z, 0-9 and "-", and must not begin or end with "-".',
  )
  .openapi({ maxLength: 63 })

export const configurationTree = z
  .strictObject({
    apiVersion: z.literal(CONFIGURATION_VERSION, `must be ${CONFIGURATION_VERSION}.`),
    kind: z.literal('Configuration', 'must be Configuration.'),
    owner: ownerName
      .optional()
      .openapi({ description: `The team that manages these resources; absent: \`${DEFAULT_OWNER}\`.` }),
    plans: z.record(planSlug, plan).default({}).openapi({ description: 'Global plans by slug.' }),
    tenants: z.record(tenantName, tenant).default({}).openapi({ description: 'Tenants by name.' }),
  })
  .openapi('Configuration')

export type ConfigurationTree = z.output<typeof configurationTree>

/** A resource with the content that its fields only represent. */
export interface TreeResource extends Resource {
  /** For an API: its OpenAPI document. */
  readonly spec?: unknown
}

/** The resources of a tree, in the order in which they can be created. */
export function resourcesOf(tree: ConfigurationTree): TreeResource[] {
  const resources = entries('plan', null, tree.plans)
  for (const [name, { plans, apis, products, consumers, webhooks, ...own }] of Object.entries(tree.tenants)) {
    if (own.tier !== undefined) {
      const fields = declaredTenant.parse(own) as unknown as ResourceFields
      resources.push({ kind: 'tenant', tenant: name, key: name, fields })
    }
    resources.push(...entries('plan', name, plans))
    for (const [key, { spec, ...fields }] of Object.entries(apis))
      resources.push(apiResource(name, key, fields as ResourceFields, spec))
    resources.push(...entries('product', name, products))
    const named = Object.entries(consumers).map(([key, value]) => [
      key,
      { ...value, name: value.name ?? key },
    ])
    resources.push(...entries('consumer', name, Object.fromEntries(named)))
    resources.push(...entries('webhook', name, webhooks))
  }
  return resources
}

/** The fields of an API in a configuration. */
export const apiShape = api.omit({ spec: true })

export function apiResource(
  tenantName: string,
  key: string,
  fields: ResourceFields,
  spec: unknown,
): TreeResource {
  const digest =
    spec === null ? null : `sha256:${createHash('sha256').update(canonicalJson(spec)).digest('hex')}`
  return { kind: 'api', tenant: tenantName, key, fields: { ...fields, spec: digest }, spec }
}

function entries(
  kind: Resource['kind'],
  owner: string | null,
  values: { readonly [key: string]: object },
): TreeResource[] {
  return Object.entries(values).map(([key, fields]) => ({
    kind,
    tenant: owner,
    key,
    fields: fields as ResourceFields,
  }))
}

/** The tree of resources: sorted, without the fields that have their defaults. */
export function treeOf(owner: string | undefined, resources: readonly TreeResource[]): object {
  const plans: Record<string, object> = {}
  const tenants: Record<string, Record<string, unknown>> = {}
  for (const resource of [...resources].sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))) {
    const { kind, tenant: name, key } = resource
    if (name === null) {
      plans[key] = withoutDefaults(resource)
      continue
    }
    tenants[name] ??= {}
    const place = tenants[name]
    if (kind === 'tenant') Object.assign(place, withoutDefaults(resource))
    else {
      const group = `${kind}s`
      place[group] ??= {}
      const members = place[group] as Record<string, object>
      members[key] = withoutDefaults(resource)
    }
  }
  return {
    apiVersion: CONFIGURATION_VERSION,
    kind: 'Configuration',
    ...(owner === undefined ? {} : { owner }),
    ...(Object.keys(plans).length === 0 ? {} : { plans }),
    ...(Object.keys(tenants).length === 0 ? {} : { tenants }),
  }
}

const SHAPES = { plan, api, product, consumer, webhook, tenant: declaredTenant } as const

function withoutDefaults({ kind, key, fields, spec }: TreeResource): object {
  const shape = SHAPES[kind].shape as { readonly [field: string]: z.ZodType }
  const shown = Object.entries(fields).filter(([field, value]) => {
    if (kind === 'consumer' && field === 'name') return value !== key
    const preset = shape[field]!.safeParse(undefined)
    return !preset.success || canonicalJson(preset.data) !== canonicalJson(value)
  })
  const found = Object.fromEntries(shown) as Record<string, Json>
  return typeof fields.spec === 'string' ? { ...found, spec } : found
}
