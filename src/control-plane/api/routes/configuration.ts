/** Routes of configuration as code, with schemas of their bodies. `services/configuration` exports and applies configurations. */
import { type Change, type Drift, pathOf, RESOURCE_KINDS } from '../../../model/configuration.ts'
import { textField } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'
import { maskField } from '../../store/masked-addresses.ts'
import { type Endpoint, endpointsTagged } from '../http/endpoint.ts'
import { configurationTree, ownerName } from '../schemas/configuration-tree.ts'
import { booleanQuery } from '../schemas/fields.ts'
import { type ApplyResult, applyConfiguration } from '../services/configuration/apply.ts'
import { exportConfiguration } from '../services/configuration/export.ts'
import { keysOf } from '../services/webhooks.ts'

const endpoint = endpointsTagged('configuration')

const shownTree = z
  .looseObject({ apiVersion: z.string(), kind: z.string() })
  .openapi('ExportedConfiguration', {
    description:
      'A configuration tree of the kind `Configuration`. Fields with their default values are omitted.',
  })

const request = configurationTree
  .safeExtend({
    secrets: z.record(z.string(), textField(4096, 0)).default({}).openapi({
      writeOnly: true,
      description:
        'Secret values by name. The names are those in the `from` fields of the tree. The control plane encrypts each value and stores it only with the webhooks that use it.',
    }),
  })
  .openapi('ConfigurationRequest')

const value = z.unknown().openapi({
  description:
    'Value of the field. An OpenAPI document is represented by its SHA-256; in an address, the parts that may hold a credential are represented by the beginning of its SHA-256.',
})
const shownChange = z.object({
  action: z.enum(['create', 'update', 'delete']),
  kind: z.enum(RESOURCE_KINDS),
  path: z.string().openapi({ example: 'tenants/acme/apis/orders' }),
  fields: z.array(z.object({ field: z.string(), from: value, to: value })),
})
const shownDrift = z.object({
  path: z.string(),
  field: z.string().nullable().openapi({
    description: 'Name of the field; null: the whole resource was deleted.',
  }),
  applied: value,
  live: value,
})
const shownResult = z
  .object({
    applied: z.boolean().openapi({
      description: 'true: the changes were applied; false: the request was a dry run.',
    }),
    changes: z.array(shownChange),
    drift: z.array(shownDrift).openapi({
      description:
        'Fields that were changed, and resources that were deleted, outside of `config apply` after the last apply. The entries in `changes` overwrite them. Without `overwrite_drift=true`, an apply with drift is refused with the status 409.',
    }),
    foreign: z.array(z.object({ path: z.string(), owner: z.string() })),
    unlisted: z.array(z.string()).openapi({
      description:
        'Resources that the owner of the tree applied earlier and that this tree does not contain. An apply with `prune=true` deletes these resources.',
    }),
    missing_secrets: z.array(z.string()),
  })
  .openapi('ConfigurationChanges')

const flag = booleanQuery.optional()

function showResult({ changes, drift, foreign, unlisted, missingSecrets }: ApplyResult, applied: boolean) {
  return {
    applied,
    changes: changes.map(({ action, path, resource, fields }: Change) => ({
      action,
      kind: resource.kind,
      path,
      fields: fields.map(({ field, from, to }) => ({
        field,
        from: maskField(field, from),
        to: maskField(field, to),
      })),
    })),
    drift: drift.map(({ path, field, applied: before, live }: Drift) => ({
      path,
      field,
      applied: field === null ? before : maskField(field, before),
      live: field === null ? live : maskField(field, live),
    })),
    foreign: foreign.map(resource => ({ path: pathOf(resource), owner: resource.owner })),
    unlisted,
    missing_secrets: missingSecrets,
  }
}

export const configurationEndpoints: readonly Endpoint[] = [
  endpoint('readConfiguration', 'get', '/config', {
    summary: 'Export the configuration as one tree',
    action: 'control.config.read',
    reach: 'caller',
    query: z.object({ owner: ownerName.optional() }),
    success: {
      description:
        'The configuration tree. If you apply this tree to an empty database, the result is the same configuration',
      schema: shownTree,
    },
    run: async ({ tx, query }) => ({ body: await exportConfiguration(tx, query.owner) }),
  }),
  endpoint('applyConfiguration', 'post', '/config', {
    summary: 'Apply a configuration tree in one transaction, or report the changes without applying them',
    action: 'control.config.apply',
    reach: 'caller',
    query: z.object({ dry_run: flag, prune: flag, overwrite_drift: flag, take_over: flag }),
    body: request,
    bulk: true,
    preconditions: true,
    success: {
      status: 200,
      description:
        'The changes. After a dry run, send the ETag of this response in the If-Match header of the request that applies the changes',
      schema: shownResult,
    },
    async run({ tx, query, body, ifMatch, principal, services, authorize }) {
      const { secrets, ...tree } = body
      const dryRun = query.dry_run === true
      const result = await applyConfiguration(tx, {
        tree,
        secrets,
        dryRun,
        ifMatch,
        services,
        authorize,
        prune: query.prune === true,
        overwriteDrift: query.overwrite_drift === true,
        takeOver: query.take_over === true,
        appliedBy: principal.subject,
        keysOf: keysOf(principal),
      })
      return { body: showResult(result, !dryRun), revision: result.version, dryRun }
    },
  }),
]
