/** Routes and schemas of deployments: which snapshot each API's gateways serve, and the push that brings them up to date. */
import { type Deployment, SYNC_STATUSES, syncStatus } from '../../../model/deployment.ts'
import type { Transaction } from '../../store/store.ts'
import { type Endpoint, endpoint, type Subject, type SubjectQuestion } from '../http/endpoint.ts'
import { notFound } from '../http/problem.ts'
import { envelope, listOf, pageQuery, shownId, shownMoment, shownOrNull, text } from '../schemas/fields.ts'
import { z } from '../schemas/zod.ts'
import type { Services } from '../services.ts'

const TAG = 'deployment'

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
  const gateway = await tx.gateways.find(deployment.gatewayId)
  if (gateway === undefined) throw notFound('deployment')
  const published = { version: publisher.share.version, at: publisher.publishedAt }
  return {
    id: deployment.id,
    api_id: deployment.apiId,
    gateway_id: deployment.gatewayId,
    desired_version: published.version,
    actual_version: gateway.snapshotVersion,
    sync_status: syncStatus(gateway, published, tx.now),
    error: gateway.lastError,
    last_synced_at: shownOrNull(gateway.lastAckAt),
    created_at: deployment.createdAt.toISOString(),
  }
}

async function find(tx: Transaction, id: string): Promise<Deployment> {
  const deployment = await tx.deployments.find(id)
  if (deployment === undefined) throw notFound('deployment')
  return deployment
}

/** A deployment belongs to the tenant of its API; one that is not there is treated as the caller's, who then learns that it is missing. */
async function ownerOf({ tx, params }: SubjectQuestion): Promise<Subject> {
  const deployment = await tx.deployments.find(params.deployment_id!)
  if (deployment === undefined) return {}
  const tenant = await tx.tenants.find(deployment.tenantId)
  return tenant === undefined ? {} : { tenant: tenant.name }
}

export const deploymentEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'get',
    path: '/deployments',
    tag: TAG,
    id: 'listDeployments',
    summary: 'List the deployments of all tenants the caller acts for',
    action: 'control.deployments.list',
    reach: 'caller',
    query: z.object({
      ...pageQuery,
      api_id: text(100).optional(),
      gateway_id: text(100).optional(),
      tenant_id: text(100).optional(),
    }),
    success: {
      status: 200,
      description: 'A page of deployments',
      schema: listOf(shownDeployment, 'DeploymentList'),
    },
    async run({ tx, query, services }) {
      const filter = { apiId: query.api_id, gatewayId: query.gateway_id, tenantId: query.tenant_id }
      const { items, total } = await tx.deployments.list(filter, query)
      const shown = []
      for (const deployment of items) shown.push(await show(tx, deployment, services))
      return { status: 200, body: envelope({ items: shown, total }, query) }
    },
  }),
  endpoint({
    method: 'get',
    path: '/deployments/{deployment_id}',
    tag: TAG,
    id: 'readDeployment',
    summary: 'Read a deployment with its synchronization state',
    action: 'control.deployments.read',
    reach: 'caller',
    success: { status: 200, description: 'The deployment', schema: shownDeployment },
    subject: ownerOf,
    async run({ tx, params, services }) {
      return { status: 200, body: await show(tx, await find(tx, params.deployment_id!), services) }
    },
  }),
  endpoint({
    method: 'post',
    path: '/deployments/{deployment_id}/sync',
    tag: TAG,
    id: 'syncDeployment',
    summary: 'Send the gateway of a deployment its whole snapshot again',
    action: 'control.deployments.sync',
    reach: 'caller',
    success: { status: 202, description: 'The deployment; the push is under way', schema: shownDeployment },
    subject: ownerOf,
    async run({ tx, params, services }) {
      const deployment = await find(tx, params.deployment_id!)
      await tx.gateways.requestResync(deployment.gatewayId)
      return { status: 202, body: await show(tx, deployment, services) }
    },
  }),
]
