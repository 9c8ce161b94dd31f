/** The insecure settings that production refuses unless `ALLOW_INSECURE` names them. */
import { BlockList, isIP } from 'node:net'
import { bareHost, hostOf } from '../../base/bare-host.ts'
import { isLoopback } from '../../base/loopback.ts'
import type { SmtpServer } from '../../control-plane/mail/smtp.ts'
import type { RedisServers } from '../../net/redis/servers.ts'
import { isRemote } from '../../policy/live/bundle-source.ts'
import type { readKafka } from './kafka.ts'
import type { PolicySettings } from './policy.ts'
import type { Reader } from './reader.ts'
import type { RoleSettings } from './role.ts'

/** The settings that are looked at. */
interface GuardedSettings extends Pick<RoleSettings, 'role' | 'controlPlane'> {
  readonly gateway: { readonly url: string | undefined }
  readonly api: { readonly url: string | undefined }
  readonly pages: { readonly url: string | undefined }
  readonly console: { readonly enabled: boolean }
  readonly portal: { readonly enabled: boolean }
  readonly databaseUrl: string
  readonly auth: {
    readonly issuer: string | undefined
    readonly adminUrl: string | undefined
    readonly tokenExchangeUrls: readonly string[]
  }
  readonly policy: PolicySettings
  readonly egressAllow: readonly string[]
  readonly sse: { readonly trustedProxies: readonly string[] }
  readonly smtp: SmtpServer | undefined
  readonly redis: RedisServers | undefined
  readonly metering: {
    readonly enabled: boolean
    readonly brokers: readonly string[]
    readonly kafka: ReturnType<typeof readKafka>
  }
  readonly telemetry: { readonly endpoints: Readonly<Record<string, string | undefined>> }
  readonly allowInsecure: readonly string[]
}

/** May be named in `ALLOW_INSECURE`: a service mesh encrypts, or a network policy admits only the proxy. */
const INTENDABLE: readonly string[] = [
  'GATEWAY_URL',
  'API_URL',
  'PAGES_URL',
  'DATABASE_URL',
  'AUTH_ISSUER',
  'AUTH_ADMIN_URL',
  'TOKEN_EXCHANGE_URLS',
  'CONTROL_PLANE_URL',
  'REDIS_URL',
  'KAFKA_TLS',
  'KAFKA_SASL',
  'KAFKA_TOKEN_URL',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'POLICY_BUNDLE',
  'POLICY_SHADOW',
  'POLICY_URL',
  'POLICY_KEY',
  'EGRESS_ALLOW',
  'SSE_TRUSTED_PROXIES',
  'SMTP_STARTTLS',
]

/** Metadata services of clouds: they hand out the credentials of the machine. */
const LINK_LOCAL = new BlockList()
LINK_LOCAL.addSubnet('169.254.0.0', 16, 'ipv4')
LINK_LOCAL.addAddress('168.63.129.16', 'ipv4')
LINK_LOCAL.addSubnet('fe80::', 10, 'ipv6')
LINK_LOCAL.addAddress('fd00:ec2::254', 'ipv6')
const METADATA_ADDRESSES = ['169.254.169.254', '168.63.129.16', 'fe80::a9fe:a9fe']
const METADATA_NAMES = /^(?:metadata|metadata\.google\.internal|instance-data)\.?$/i

/** Sockets of container engines and of the system: who reaches one controls the machine. */
const ENGINE_SOCKETS = [
  '/docker.sock',
  '/containerd/containerd.sock',
  '/crio/crio.sock',
  '/podman/podman.sock',
  '/dbus/system_bus_socket',
  '/systemd/private',
].flatMap(path => [`/run${path}`, `/var/run${path}`])

/** Adds a fault for each setting that production refuses and `ALLOW_INSECURE` does not name. */
export function guardProduction(settings: GuardedSettings, read: Reader): void {
  const allowed = settings.allowInsecure
  for (const name of allowed) {
    if (!INTENDABLE.includes(name))
      read.fault('ALLOW_INSECURE', `names "${name}".`, `Use only ${INTENDABLE.join(', ')}.`)
  }
  const refuse = (name: string, reason: string, fix: string): void => {
    if (!allowed.includes(name))
      read.fault(name, reason, `${fix} To accept this risk, add ${name} to ALLOW_INSECURE.`)
  }
  const { auth, controlPlane, policy, egressAllow, sse, redis, metering } = settings
  const { tls, sasl } = metering.kafka
  const addresses = {
    GATEWAY_URL: settings.gateway.url,
    API_URL: settings.api.url,
    PAGES_URL: settings.pages.url,
    AUTH_ISSUER: auth.issuer,
    AUTH_ADMIN_URL: auth.adminUrl,
    TOKEN_EXCHANGE_URLS: auth.tokenExchangeUrls.find(isPlainHttp),
    CONTROL_PLANE_URL: controlPlane?.url,
    KAFKA_TOKEN_URL: sasl !== undefined && 'tokenUrl' in sasl ? sasl.tokenUrl : undefined,
    POLICY_BUNDLE: policy.bundle,
    POLICY_SHADOW: policy.shadow,
    POLICY_URL: policy.url,
    ...settings.telemetry.endpoints,
  }
  for (const [name, address] of Object.entries(addresses)) {
    if (address !== undefined && isPlainHttp(address))
      refuse(
        name,
        'is a plain http:// address: anyone on the network path can read and replace what is sent.',
        'Use an https:// address.',
      )
  }
  const hasPages = settings.role !== 'gateway' && (settings.console.enabled || settings.portal.enabled)
  if (hasPages && settings.api.url === undefined)
    refuse(
      'API_URL',
      'is missing: behind a proxy with TLS the cookies of console and portal would not be limited to https, and the header Host of a request would say where a login returns.',
      'Set API_URL to the public address of the control plane, or CONSOLE=false and PORTAL=false.',
    )
  if (redis !== undefined && redis.tls === undefined && redis.nodes.some(({ host }) => !isLoopback(host)))
    refuse(
      'REDIS_URL',
      'is a plain redis:// address: anyone on the network path can read and change sessions and quotas, and read the keys that sign session ids.',
      'Use a rediss:// address.',
    )
  const isOfOthers = (broker: string) => !isLoopback(broker.replace(/:\d+$/, ''))
  if (sasl === undefined && tls === undefined && metering.enabled && metering.brokers.some(isOfOthers))
    refuse(
      'KAFKA_TLS',
      'is false: anyone on the network path can read and change the metering events.',
      'Set KAFKA_TLS=true.',
    )
  if (sasl !== undefined && tls === undefined)
    refuse(
      'KAFKA_SASL',
      `is ${sasl.mechanism} without TLS: anyone on the network path can read the metering events, and may be able to read the credentials.`,
      'Set KAFKA_TLS=true.',
    )
  if (isOpenDatabase(settings.databaseUrl))
    refuse(
      'DATABASE_URL',
      'connects to PostgreSQL without a verified TLS connection: anyone on the network path can read and change everything that is stored.',
      'Add sslmode=verify-full, and sslrootcert for an authority of your own.',
    )
  const { smtp } = settings
  if (smtp?.encryption === 'none' && !isLoopback(smtp.host))
    refuse(
      'SMTP_STARTTLS',
      'is false: anyone on the network path can read the mails and the SMTP password.',
      'Set SMTP_STARTTLS=true, or use an smtps:// URL in SMTP_URL.',
    )
  if ([policy.bundle, policy.shadow ?? ''].some(isRemote) && policy.key === undefined)
    refuse(
      'POLICY_KEY',
      'is missing, but a policy bundle is fetched from a server: anyone who can replace the bundle decides which calls are allowed.',
      'Sign the bundle, and set POLICY_KEY to the public key.',
    )
  for (const entry of egressAllow) {
    const why = egressFault(entry)
    if (why !== undefined)
      refuse(
        'EGRESS_ALLOW',
        `contains "${entry}", ${why}.`,
        'List only the hosts, networks and sockets of your backends.',
      )
  }
  for (const cidr of sse.trustedProxies) {
    if (isBroad(cidr))
      refuse(
        'SSE_TRUSTED_PROXIES',
        `contains "${cidr}", which covers too many addresses: a client in this range can send a false client address.`,
        'List only the addresses of your proxies.',
      )
  }
}

function isPlainHttp(address: string): boolean {
  // a scheme is case-insensitive (RFC 3986 §3.1)
  if (!URL.canParse(address) || new URL(address).protocol !== 'http:') return false
  return !isLoopback(hostOf(address))
}

/** `require` encrypts, but does not know the server in libpq; this driver verifies it as with `verify-full`. */
const VERIFIED_MODES: ReadonlySet<string | null> = new Set(['require', 'verify-ca', 'verify-full'])

function isOpenDatabase(url: string): boolean {
  if (!/^postgres(?:ql)?:/.test(url) || !URL.canParse(url)) return false
  const { hostname, searchParams } = new URL(url)
  const isLocal = hostname === '' || isLoopback(bareHost(hostname))
  return !isLocal && !VERIFIED_MODES.has(searchParams.get('sslmode'))
}

/** A network of more than a 128th of the addresses of its family. */
function isBroad(cidr: string): boolean {
  const [address = '', bits] = cidr.split('/')
  return bits !== undefined && isIP(address) !== 0 && Number(bits) < 7
}

/** Why an entry of `EGRESS_ALLOW` must not be there; undefined when it may. */
function egressFault(entry: string): string | undefined {
  if (entry.startsWith('unix:')) return socketFault(entry.slice('unix:'.length))
  if (METADATA_NAMES.test(entry)) return 'the metadata service of a cloud provider'
  if (isBroad(entry)) return 'which covers too many addresses'
  const [address = '', bits] = entry.split('/')
  const version = isIP(address)
  if (version === 0) return undefined
  const family = version === 6 ? 'ipv6' : 'ipv4'
  const block = new BlockList()
  const width = version === 6 ? 128 : 32
  const prefix = Number(bits ?? width)
  if (!(prefix <= width)) return undefined
  block.addSubnet(address, prefix, family)
  const holdsMetadata = METADATA_ADDRESSES.some(one => block.check(one, isIP(one) === 6 ? 'ipv6' : 'ipv4'))
  return LINK_LOCAL.check(address, family) || holdsMetadata
    ? 'which may contain the metadata service of a cloud provider'
    : undefined
}

function socketFault(path: string): string | undefined {
  const opens = ENGINE_SOCKETS.find(one => (path.endsWith('/') ? one.startsWith(path) : one === path))
  return opens === undefined
    ? undefined
    : `which allows calls to ${opens}, a socket that controls the machine`
}
