/** Schemas of APIs in requests, and the fields of the model in a body. `shown-api.ts` has those of responses. */
import { writeJson } from '../../../base/json/exact-number.ts'
import { API_STATUSES } from '../../../model/api.ts'
import { apiAuthorities, apiFields, newApiFields } from '../../../model/schema/api.ts'
import { changedBy } from '../../../model/schema/authority.ts'
import { word } from '../../../model/schema/fields.ts'
import { toModel } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'

export const newApi = z.strictObject(newApiFields).openapi('NewApi', changedBy(apiAuthorities))

export const apiPatch = z
  .strictObject({ ...apiFields, status: word(API_STATUSES) })
  .partial()
  .openapi('ApiPatch', changedBy(apiAuthorities))

/** Fields of a body as they are stored; absent fields are undefined. */
export function storedApiFields(body: z.output<typeof apiPatch>) {
  const { rateLimit, status: _, ...fields } = toModel(apiPatch, body)
  return {
    ...fields,
    requestsPerHour: rateLimit === undefined ? undefined : (rateLimit?.requestsPerHour ?? null),
    spec: body.spec === undefined ? undefined : body.spec === null ? null : writeJson(body.spec),
  }
}
