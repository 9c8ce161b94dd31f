/** Builds and compares the status of GatewayInstance and GatewayBinding objects, and names their gateways. Pure: the time is an argument. */
import { isDeepStrictEqual } from 'node:util'
import { faultText } from '../../../model/resource-fault.ts'
import { gatewayInstanceSpec } from '../../../model/schema/gateway-object-specs.ts'
import { readBySchema } from '../../../model/schema/read-resource.ts'
import type { KubeObject } from '../api.ts'

/** A gateway as `GET /v1/gateways` shows it. */
export interface ShownGateway {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly version: string
  readonly url: string
  readonly snapshot_version: string | null
  readonly workers: number
  readonly last_seen_at: string
  readonly error: string | null
}

/** A deployment as `GET /v1/deployments` shows it. */
export interface ShownDeployment {
  readonly sync_status: string
  readonly desired_version: string
  readonly actual_version: string | null
  readonly error: string | null
}

export type Status = Readonly<Record<string, unknown>>

interface Ready {
  readonly isReady: boolean
  readonly reason: string
  readonly message: string
}

/** A namespace that is visible to no tenant: gateways serve all of them. */
export const PLATFORM = 'platform'

export function statusOfInstance(
  object: KubeObject,
  gateway: ShownGateway | undefined,
  nowMs: number,
): Status {
  const fault = faultOfInstance(object, gateway)
  const phase = gateway === undefined ? 'Absent' : phaseOf(gateway.status)
  const isReady = fault === undefined && phase === 'Online'
  const message = fault ?? `The gateway is ${gateway!.status}.`
  const reason = fault !== undefined && phase === 'Online' ? 'NotAsDeclared' : phase
  return {
    phase: object.metadata.namespace === PLATFORM ? phase : 'Error',
    // a merge patch removes a field only when it is null
    gatewayId: gateway?.id ?? null,
    version: gateway?.version ?? null,
    url: gateway?.url ?? null,
    workers: gateway?.workers ?? null,
    snapshotVersion: gateway?.snapshot_version ?? null,
    lastError: fault ?? null,
    ...statusOf(object),
    conditions: [readyCondition(object, { isReady, reason, message }, nowMs)],
  }
}

function faultOfInstance(
  { metadata, spec }: KubeObject,
  gateway: ShownGateway | undefined,
): string | undefined {
  if (metadata.namespace !== PLATFORM)
    return `metadata.namespace is ${metadata.namespace}, but a gateway serves every tenant: create the GatewayInstance in the namespace ${PLATFORM}`
  const { value, faults } = readBySchema(gatewayInstanceSpec, spec ?? {}, 'spec')
  if (value === undefined) return faultText(faults)
  if (gateway === undefined)
    return 'No gateway with the name in spec.gatewayName (default: metadata.name) has connected to the control plane. Start a gateway with this name in GATEWAY_NAME, or correct spec.gatewayName.'
  if (value.url !== undefined && value.url !== gateway.url)
    return `spec.url is ${value.url}, but the gateway reports ${gateway.url}. Correct spec.url, or GATEWAY_URL of the gateway.`
  return gateway.error ?? undefined
}

/** Name under which the gateway connects. */
export function gatewayNameOf({ metadata, spec }: KubeObject): string {
  return typeof spec?.gatewayName === 'string' ? spec.gatewayName : metadata.name
}

/** What is known about a binding. */
export interface BindingState {
  /** Why it is not applied; undefined: it is. */
  readonly fault: string | undefined
  readonly apiId: string | undefined
  /** At the gateway that the binding names; undefined: it names none. */
  readonly deployment: ShownDeployment | undefined
  readonly appliedAtMs: number | undefined
}

export function statusOfBinding(object: KubeObject, state: BindingState, nowMs: number): Status {
  const { fault, apiId, deployment, appliedAtMs } = state
  const lastError = fault ?? deployment?.error ?? undefined
  const isServed = deployment === undefined || deployment.sync_status === 'synced'
  const phase = lastError !== undefined ? 'Error' : isServed ? 'Ready' : 'Syncing'
  const messages = {
    Error: lastError ?? '',
    Ready:
      deployment === undefined
        ? 'The API is applied to the control plane.'
        : 'The API is applied to the control plane, and the gateway serves it.',
    Syncing: 'The API is applied to the control plane, but the gateway has not acknowledged the change yet.',
  }
  const reason = fault !== undefined ? 'NotApplied' : lastError !== undefined ? 'GatewayRefused' : phase
  return {
    phase,
    apiId: apiId ?? null,
    syncStatus: deployment?.sync_status ?? null,
    desiredVersion: deployment?.desired_version ?? null,
    actualVersion: deployment?.actual_version ?? null,
    lastAppliedAt: appliedAtMs === undefined ? null : new Date(appliedAtMs).toISOString(),
    lastError: lastError ?? null,
    ...statusOf(object),
    conditions: [
      readyCondition(object, { isReady: phase === 'Ready', reason, message: messages[phase] }, nowMs),
    ],
  }
}

function statusOf({ metadata }: KubeObject): Status {
  return metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
}

function readyCondition(object: KubeObject, { isReady, reason, message }: Ready, nowMs: number): Status {
  const status = isReady ? 'True' : 'False'
  const before = (object.status?.conditions as readonly Status[] | undefined)?.find(
    ({ type }) => type === 'Ready',
  )
  const lastTransitionTime =
    before?.status === status ? before.lastTransitionTime : new Date(nowMs).toISOString()
  return { type: 'Ready', status, reason, message: message.slice(0, 2000), lastTransitionTime }
}

function phaseOf(status: string): string {
  return `${status.charAt(0).toUpperCase()}${status.slice(1)}`
}

/** Whether a merge patch would change nothing. */
export function isWritten(object: KubeObject, status: Status): boolean {
  return Object.entries(status).every(
    // the API server sorts the fields
    ([field, value]) => isDeepStrictEqual(object.status?.[field] ?? null, value),
  )
}
