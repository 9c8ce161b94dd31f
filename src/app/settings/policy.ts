/** The settings of the policy, of its bundles and of its decision log, and their checks. It connects to nothing. */

import { isLoopback } from '../../base/loopback.ts'
import { isRemote } from '../../policy/live/bundle-source.ts'
import type { Reader } from './reader.ts'

export type PolicySettings = ReturnType<typeof readAll>

function readAll(read: Reader, production: boolean) {
  return {
    engine: read.oneOf('POLICY_ENGINE', ['opa-wasm', 'opa-http'], 'opa-wasm'),
    /** A file, or an http(s) address. */
    bundle: read.path('POLICY_BUNDLE', 'policies/bundle.tar.gz'),
    url: read.url('POLICY_URL'),
    /** How often bundles are looked at. */
    pollMs: read.durationMs('POLICY_POLL', '5s'),
    /** PEM of the public key that bundles must be signed with; undefined: they need no signature. */
    key: read.optional('POLICY_KEY'),
    /** Bearer token for bundles behind an http(s) address. */
    token: read.renewable('POLICY_TOKEN'),
    /** Folder with `<tenant>.tar.gz`. */
    tenants: read.optional('POLICY_TENANTS'),
    /** A candidate that decides beside the live bundle and only counts. */
    shadow: read.optional('POLICY_SHADOW'),
    /** Promotion is refused with more flips of the candidate. */
    maxFlips: read.integer('POLICY_MAX_FLIPS', 0, 0, 1_000_000_000),
    decisionLog: {
      keep: read.oneOf('DECISION_LOG', ['masked', 'allowed', 'all', 'none', 'off'], 'masked'),
      /** With `allowed`: the only names of arguments that are kept. */
      allowed: read.list('DECISION_LOG_ALLOW', ''),
      /** For the allowed decisions, 0 to 1. */
      sampleAllowed: read.integer('DECISION_LOG_PERCENT', production ? 1 : 100, 0, 100) / 100,
    },
  } as const
}

export function readPolicySettings(read: Reader, production: boolean): PolicySettings {
  const settings = readAll(read, production)
  for (const [name, address] of [
    ['POLICY_BUNDLE', settings.bundle],
    ['POLICY_SHADOW', settings.shadow ?? ''],
  ] as const)
    if (isRemote(address) && !URL.canParse(address))
      read.fault(
        name,
        'is not a valid URL.',
        'Use a URL such as "https://host[:port]/path", or the path of a file.',
      )
  if (settings.engine === 'opa-http') ownServer(settings, read)
  else if (settings.token !== undefined) checkToken(settings, read)
  if (settings.pollMs < 10) read.fault('POLICY_POLL', 'is below 10ms.', 'Set it to 10ms or more.')
  return settings
}

/** The token must not be sent in the clear, nor be set without use. */
function checkToken({ bundle, shadow }: PolicySettings, read: Reader): void {
  const remote = [bundle, shadow ?? ''].filter(address => isRemote(address) && URL.canParse(address))
  if (remote.length === 0)
    read.fault(
      'POLICY_TOKEN',
      'is set, but neither POLICY_BUNDLE nor POLICY_SHADOW is a URL.',
      'Unset POLICY_TOKEN, or set POLICY_BUNDLE or POLICY_SHADOW to a URL.',
    )
  const plain = remote
    .map(address => new URL(address))
    .find(({ protocol, hostname }) => protocol === 'http:' && !isLoopback(hostname))
  if (plain !== undefined)
    read.fault(
      'POLICY_TOKEN',
      `is set, and would be sent to ${plain.host} without TLS.`,
      'Use an https:// address in POLICY_BUNDLE and POLICY_SHADOW, or unset POLICY_TOKEN.',
    )
}

/** What only the gateway's own engine can do. */
function ownServer({ url, key, tenants, shadow, token }: PolicySettings, read: Reader): void {
  if (url === undefined)
    read.fault(
      'POLICY_URL',
      'is missing, but POLICY_ENGINE=opa-http requires it.',
      'Set POLICY_URL to the decision URL of the policy server, such as "http://opa:8181/v1/data/toolgate/decision".',
    )
  const bundles = { POLICY_KEY: key, POLICY_TENANTS: tenants, POLICY_SHADOW: shadow, POLICY_TOKEN: token }
  for (const [name, value] of Object.entries(bundles)) {
    if (value !== undefined)
      read.fault(
        name,
        'is set, but POLICY_ENGINE=opa-http does not use it.',
        `Unset ${name}: the policy server loads its own bundles.`,
      )
  }
}
