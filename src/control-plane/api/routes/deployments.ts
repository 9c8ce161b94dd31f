/** Routes and schemas of deployments: their synchronization state, and the request for a new synchronization. */
import { type Deployment, SYNC_STATUSES, syncStatus } from '../../../model/deployment.ts'
import { textField } from '../../../model/schema/fields.ts'
import { camelCased, toWire } from '../../../model/schema/names.ts'
import { z } from '../../../model/schema/zod.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpointsTagged, type Subject, type SubjectQuestion } from '../http/endpoint.ts'
import { requireFound } from '../http/problem.ts'
import { envelope, listOf, pageQuery, q, shownId, shownMoment, sortQuery } from '../schemas/fields.ts'
import type { Services } from '../services.ts'

const endpoint = endpointsTagged('deployment')

const shownDeployment = z
  .object({
    id: shownId('dep'),
    api_id: shownId('api'),
    gateway_id: shownId('gw'),
    desired_version: z.string(),
    actual_version: z.string().nullable(),
    sync_status: z.enum(SYNC_STATUSES),
    error: z.string().nullable(),
    last_synced_at: shownMoment.nullable(),
    created_at: shownMoment,
  })
  .openapi('Deployment')

async function show(tx: Transaction, deployment: Deployment, { publisher }: Services) {
  const gateway = requireFound(await tx.gateways.find(deployment.gatewayId), 'deployment')
  const published = { version: publisher.share.version, at: publisher.publishedAt }
  return toWire(shownDeployment, {
    ...deployment,
    desiredVersion: published.version,
    actualVersion: gateway.snapshotVersion,
    syncStatus: syncStatus(gateway, published, tx.now),
    error: gateway.lastError,
    lastSyncedAt: gateway.lastAckAt,
  })
}

async function find(tx: Transaction, id: string): Promise<Deployment> {
  return requireFound(await tx.deployments.find(id), 'deployment')
}

/** A deployment belongs to the tenant of its API; an unknown one counts as the caller's, so that the response is 404. */
async function ownerOf({ tx, params }: SubjectQuestion): Promise<Subject> {
  const deployment = await tx.deployments.find(params.deployment_id!)
  if (deployment === undefined) return {}
  const tenant = await tx.tenants.find(deployment.tenantId)
  return tenant === undefined ? {} : { tenant: tenant.name }
}

export const deploymentEndpoints: readonly Endpoint[] = [
  endpoint('listDeployments', 'get', '/deployments', {
    summary:
      'List the deployments of all tenants the caller acts for; q searches the names of APIs and gateways',
    action: 'control.deployments.list',
    reach: 'caller',
    query: z.object({
      ...pageQuery,
      sort: sortQuery('api_id', 'gateway_id'),
      q,
      api_id: textField(100).optional(),
      gateway_id: textField(100).optional(),
      tenant_id: textField(100).optional(),
    }),
    success: {
      description: 'A page of deployments',
      schema: listOf(shownDeployment, 'DeploymentList'),
    },
    async run({ tx, query, services }) {
      const { items, total } = await tx.deployments.list(camelCased(query), query)
      const shown = []
      for (const deployment of items) shown.push(await show(tx, deployment, services))
      return { body: envelope({ items: shown, total }, query, item => item) }
    },
  }),
  endpoint('readDeployment', 'get', '/deployments/{deployment_id}', {
    summary: 'Read a deployment with its synchronization state',
    action: 'control.deployments.read',
    reach: 'caller',
    success: { description: 'The deployment', schema: shownDeployment },
    subject: ownerOf,
    async run({ tx, params, services }) {
      return { body: await show(tx, await find(tx, params.deployment_id!), services) }
    },
  }),
  endpoint('syncDeployment', 'post', '/deployments/{deployment_id}/sync', {
    summary: 'Send the whole snapshot again to the gateway of a deployment',
    action: 'control.deployments.sync',
    reach: 'caller',
    success: {
      status: 202,
      description: 'The deployment whose gateway will receive the whole snapshot again',
      schema: shownDeployment,
    },
    subject: ownerOf,
    async run({ tx, params, services }) {
      const deployment = await find(tx, params.deployment_id!)
      await tx.gateways.requestResync(deployment.gatewayId)
      return { body: await show(tx, deployment, services) }
    },
  }),
]
