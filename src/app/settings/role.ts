/** The role of a process, and the control plane of a separate gateway. It connects to nothing. */
import type { ClientTls } from '../../net/tls/client-tls.ts'
import { checkClientTls } from './client-tls.ts'
import type { Reader } from './reader.ts'

export const ROLES = ['all', 'gateway', 'control-plane'] as const

export interface RoleSettings {
  readonly role: (typeof ROLES)[number]
  /** For a `gateway`; undefined for the other roles. */
  readonly controlPlane:
    | {
        /** Without `/v1` and without trailing slash. */
        readonly url: string
        /** Client credentials whose tokens have the scope `deploy` and no tenant. */
        readonly clientId: string
        readonly clientSecret: string
        readonly tls: ClientTls | undefined
      }
    | undefined
}

/** What to do when one of the settings that a gateway needs is missing. */
const FIXES = {
  CONTROL_PLANE_URL: 'Set CONTROL_PLANE_URL to the address of the control plane.',
  GATEWAY_CLIENT_ID:
    'Set GATEWAY_CLIENT_ID to the id of the OAuth client with which the gateway gets tokens for the control plane.',
  GATEWAY_CLIENT_SECRET: 'Set GATEWAY_CLIENT_SECRET to the secret of the OAuth client in GATEWAY_CLIENT_ID.',
} as const

/** @param issuer value of `AUTH_ISSUER`: a separate gateway cannot use the embedded provider */
export function readRole(read: Reader, issuer: string | undefined): RoleSettings {
  const role = read.oneOf('ROLE', ROLES, 'all')
  const url = read.url('CONTROL_PLANE_URL')
  const clientId = read.optional('GATEWAY_CLIENT_ID')
  const clientSecret = read.optional('GATEWAY_CLIENT_SECRET')
  const tls = checkClientTls(
    read,
    'CONTROL_PLANE',
    {
      ca: read.renewable('CONTROL_PLANE_CA'),
      cert: read.renewable('CONTROL_PLANE_CERT'),
      key: read.renewable('CONTROL_PLANE_KEY'),
    },
    {
      isOn: url?.startsWith('https:') === true,
      fix: 'Use an https:// URL in CONTROL_PLANE_URL',
    },
  )
  if (role !== 'gateway') {
    if (url !== undefined)
      read.fault(
        'CONTROL_PLANE_URL',
        `is set, but ROLE=${role} does not use it.`,
        'Set ROLE=gateway, or unset CONTROL_PLANE_URL.',
      )
    return { role, controlPlane: undefined }
  }
  // an invalid URL already has its fault
  const given = {
    CONTROL_PLANE_URL: read.optional('CONTROL_PLANE_URL'),
    GATEWAY_CLIENT_ID: clientId,
    GATEWAY_CLIENT_SECRET: clientSecret,
  }
  for (const name of Object.keys(FIXES) as (keyof typeof FIXES)[]) {
    if (given[name] === undefined) read.fault(name, 'is missing, but ROLE=gateway requires it.', FIXES[name])
  }
  if (issuer === undefined) {
    read.fault(
      'AUTH_ISSUER',
      'is missing, but ROLE=gateway requires it.',
      'Set AUTH_ISSUER to the issuer that the control plane uses.',
    )
  }
  if (url === undefined || clientId === undefined || clientSecret === undefined)
    return { role, controlPlane: undefined }
  return { role, controlPlane: { url, clientId, clientSecret, tls } }
}
