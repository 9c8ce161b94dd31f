/** The parts of the control plane's share of the configuration, as gateways check them in an update. */

import { mcpUpstream } from '../model/schema/mcp-upstream.ts'
import type { ModelOf } from '../model/schema/names.ts'
import { passthrough } from '../model/schema/passthrough.ts'
import { servedForm } from '../model/schema/served.ts'
import { traffic } from '../model/schema/traffic.ts'
import { z } from '../model/schema/zod.ts'
import type { SubscriptionFault } from '../model/subscription.ts'
import type { Tool } from '../model/tool.ts'

const text = z.string()
const texts = z.array(text)
const number = z.number()
/** Unix ms; null: never, or not known. */
const momentMs = number.nullable()

/** A limit that is absent does not apply. */
export const planShare = z.object({
  slug: text,
  name: text,
  perSecond: number.exactOptional(),
  perMinute: number.exactOptional(),
  perDay: number.exactOptional(),
  perMonth: number.exactOptional(),
  /** Requests in flight at once. */
  burst: number.exactOptional(),
})

/** A proxied API; retired and deleted ones are left out. */
const apiShare = z.object({
  id: text,
  /** Below the tenant's address `/t/{tenant}`. */
  path: text,
  upstreamUrl: text,
  /** False: every caller may use it. */
  authRequired: z.boolean(),
  /** Requests per hour of one consumer; null: no limit. */
  requestsPerHour: number.nullable(),
  /** null, and absent in an update of an older control plane: nothing beyond the defaults. */
  passthrough: servedForm(passthrough).nullish(),
  /** Rules for its calls; absent: none. */
  traffic: servedForm(traffic).optional(),
  /** A further path that leads to it: requests there name no version. */
  alias: text.optional(),
  /** One of several APIs with this path, of which a request header chooses; absent: the only one. `header`: in lower case. */
  version: z.object({ label: text, header: text, isDefault: z.boolean() }).optional(),
  /** Absent: no end is announced. `isRefused`: calls after the sunset are refused. */
  deprecation: z
    .object({
      deprecatedAtMs: momentMs,
      sunsetAtMs: momentMs,
      isRefused: z.boolean(),
      link: text.nullable(),
    })
    .optional(),
})
export type ApiShare = ModelOf<typeof apiShare>
export type VersionShare = NonNullable<ApiShare['version']>
export type DeprecationShare = NonNullable<ApiShare['deprecation']>

/** An MCP server whose tools gateways list and serve; it is not proxied. */
const mcpApiShare = apiShare.extend({
  name: text,
  /** In front of the names of its tools. */
  toolPrefix: text,
  mcp: servedForm(mcpUpstream.omit({ trusted: true })),
  /** True: changed definitions of its tools are served at once; absent: they wait. */
  trusted: z.literal(true).optional(),
  /** Hash of the list of its definitions that was accepted last; absent: none. */
  acceptedSpecHash: text.optional(),
})
export type McpApiShare = ModelOf<typeof mcpApiShare>

/** An approved subscription. Its limits are the plan's with these overrides (`limitsOf` of model/subscription.ts). */
const subscriptionShare = z.object({
  id: text,
  /** API id of a product: one of its APIs, which is all that a gateway of an older version serves; '' when it has none. */
  apiId: text,
  /** API ids of a product: its APIs. Absent: `apiId` alone. */
  apiIds: texts.optional(),
  /** Absent: it is to the API `apiId`. */
  productId: text.optional(),
  /** The consumer. */
  application: text,
  /** Name of the tenant of the application, where the API is shared with it; it calls with keys only. Absent: the owner of the API. */
  subscriber: text.optional(),
  /** Slug: the tenant's own plan of that name, else the global one. */
  plan: text,
  /** Per minute. */
  rateLimit: number.nullable(),
  /** Per month. */
  quota: number.nullable(),
  /** The gateway enforces it without an update. */
  expiresAtMs: momentMs,
})
export type SubscriptionShare = ModelOf<typeof subscriptionShare>

/** A valid key. The previous key of a rotation is a separate entry until its grace period ends. */
const keyShare = z.object({
  id: text,
  subscriptionId: text,
  /** `tgk_` and the 8 public characters. */
  prefix: text,
  /** SHA-256 of the whole key, hex. */
  hash: text,
  expiresAtMs: momentMs,
})
export type KeyShare = ModelOf<typeof keyShare>

/** A subscription that is not served: calls are refused with its state. Separate, because gateways of older versions serve all subscriptions. */
const inactiveSubscriptionShare = subscriptionShare
  .pick({ id: true, apiId: true, apiIds: true, application: true, subscriber: true })
  .extend({
    state: text as unknown as z.ZodType<SubscriptionFault>,
    keys: z.array(keyShare.omit({ subscriptionId: true })),
  })
export type InactiveSubscriptionShare = ModelOf<typeof inactiveSubscriptionShare>

/** Only consumers with an assigned plan, and those that are blocked. */
const consumerShare = z.object({
  subject: text,
  /** Slug of the plan assigned to it; null: the defaults. */
  plan: text.nullable(),
  blocked: z.boolean(),
})

export const tenantShare = z.object({
  id: text,
  name: text,
  /** True: every call of its addresses and tools is refused. */
  suspended: z.boolean(),
  plans: z.array(planShare),
  apis: z.array(apiShare),
  /** Absent: none. Separate, because gateways of older versions proxy all APIs. */
  mcpApis: z.array(mcpApiShare).optional(),
  subscriptions: z.array(subscriptionShare),
  keys: z.array(keyShare),
  /** Absent: none. */
  inactive: z.array(inactiveSubscriptionShare).optional(),
  consumers: z.array(consumerShare),
  /** Compiled from the OpenAPI documents of its APIs. */
  tools: z.array(z.object({ name: text, inputSchema: z.record(text, z.unknown()) })),
})
export type TenantShare = Omit<ModelOf<typeof tenantShare>, 'tools'> & { readonly tools: readonly Tool[] }
