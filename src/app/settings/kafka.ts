/** How the process connects to Kafka: TLS and SASL, and which combinations are refused. It connects to nothing. */
import type { Renewable } from '../../net/tls/client-tls.ts'
import { checkClientTls } from './client-tls.ts'
import type { Reader } from './reader.ts'

const PASSWORD_MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'] as const
const MECHANISMS = ['none', ...PASSWORD_MECHANISMS, 'oauthbearer'] as const

type PasswordMechanism = (typeof PASSWORD_MECHANISMS)[number]
const isPasswordMechanism = (text: string): text is PasswordMechanism =>
  (PASSWORD_MECHANISMS as readonly string[]).includes(text)

export type KafkaSaslSettings =
  | { readonly mechanism: PasswordMechanism; readonly username: string; readonly password: Renewable }
  | { readonly mechanism: 'oauthbearer'; readonly token: Renewable }
  | {
      readonly mechanism: 'oauthbearer'
      readonly tokenUrl: string
      readonly clientId: string
      readonly clientSecret: Renewable
      readonly scope: string | undefined
    }

export function readKafka(read: Reader) {
  const isOn = read.flag('KAFKA_TLS', false)
  const tls = checkClientTls(
    read,
    'KAFKA',
    { ca: read.renewable('KAFKA_CA'), cert: read.renewable('KAFKA_CERT'), key: read.renewable('KAFKA_KEY') },
    { isOn, fix: 'Set KAFKA_TLS=true' },
  )
  return { tls, sasl: readSasl(read) } as const
}

function readSasl(read: Reader): KafkaSaslSettings | undefined {
  const mechanism = read.oneOf('KAFKA_SASL', MECHANISMS, 'none')
  const given = {
    KAFKA_USERNAME: read.optional('KAFKA_USERNAME'),
    KAFKA_PASSWORD: read.renewable('KAFKA_PASSWORD'),
    KAFKA_TOKEN: read.renewable('KAFKA_TOKEN'),
    KAFKA_TOKEN_URL: read.url('KAFKA_TOKEN_URL'),
    KAFKA_CLIENT_ID: read.optional('KAFKA_CLIENT_ID'),
    KAFKA_CLIENT_SECRET: read.renewable('KAFKA_CLIENT_SECRET'),
    KAFKA_SCOPE: read.optional('KAFKA_SCOPE'),
  }
  const need = namesFor(mechanism, given.KAFKA_TOKEN !== undefined)
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined && need.includes(name))
      read.fault(name, `is missing, but KAFKA_SASL=${mechanism} requires it.`, needed(mechanism))
    if (
      value !== undefined &&
      !need.includes(name) &&
      !(name === 'KAFKA_SCOPE' && need.includes('KAFKA_TOKEN_URL'))
    ) {
      const replacesToken =
        need.includes('KAFKA_TOKEN') && [...namesFor(mechanism, false), 'KAFKA_SCOPE'].includes(name)
      read.fault(
        name,
        `is set, but KAFKA_SASL=${mechanism} does not use it${replacesToken ? ' when KAFKA_TOKEN is set' : ''}.`,
        `Unset ${name}, or ${replacesToken ? 'unset KAFKA_TOKEN' : 'change KAFKA_SASL'}.`,
      )
    }
  }
  const { KAFKA_USERNAME: username, KAFKA_PASSWORD: password, KAFKA_TOKEN: token } = given
  const { KAFKA_TOKEN_URL: tokenUrl, KAFKA_CLIENT_ID: clientId, KAFKA_CLIENT_SECRET: clientSecret } = given
  if (isPasswordMechanism(mechanism))
    return username === undefined || password === undefined ? undefined : { mechanism, username, password }
  if (mechanism === 'none') return undefined
  if (token !== undefined) return { mechanism, token }
  if (tokenUrl === undefined || clientId === undefined || clientSecret === undefined) return undefined
  return { mechanism, tokenUrl, clientId, clientSecret, scope: given.KAFKA_SCOPE }
}

/** Settings without which a mechanism cannot be used. */
function namesFor(mechanism: (typeof MECHANISMS)[number], hasToken: boolean): readonly string[] {
  if (mechanism === 'none') return []
  if (isPasswordMechanism(mechanism)) return ['KAFKA_USERNAME', 'KAFKA_PASSWORD']
  return hasToken ? ['KAFKA_TOKEN'] : ['KAFKA_TOKEN_URL', 'KAFKA_CLIENT_ID', 'KAFKA_CLIENT_SECRET']
}

function needed(mechanism: string): string {
  return mechanism === 'oauthbearer'
    ? 'Set KAFKA_TOKEN_URL, KAFKA_CLIENT_ID and KAFKA_CLIENT_SECRET, or KAFKA_TOKEN_FILE.'
    : 'Set KAFKA_USERNAME and KAFKA_PASSWORD.'
}
