/** A broker with a listener for client certificates and one for four SASL mechanisms, and the settings that connect with each. No assertions. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startDevProvider } from '../../../src/identity/dev-provider/dev-provider.ts'
import { SILENT } from '../../../src/telemetry/log.ts'
import { Authority, combined } from '../../fixtures/certificates.ts'
import { freePort } from '../../fixtures/free-ports.ts'
import { KafkaServer } from './kafka-server.ts'

export const USER = 'metering'
export const PASSWORD = 'correct horse battery'

const JAAS = 'org.apache.kafka.common.security'
const SASL = 'listener.name.sasl_ssl'

export type Environment = Readonly<Record<string, string>>

export interface SecuredKafka {
  readonly server: KafkaServer
  readonly authority: Authority
  /** Settings for each way to authenticate. */
  readonly ways: Readonly<Record<string, Environment>>
  stop(): Promise<void>
}

/** @param dir receives certificates and secrets */
export async function startSecuredKafka(dir: string): Promise<SecuredKafka> {
  const [tlsPort, saslPort] = [await freePort(), await freePort()]
  const authority = new Authority(dir)
  const client = authority.issue('client')
  const provider = await startDevProvider({
    host: '127.0.0.1',
    port: 0,
    dataDir: join(dir, 'idp'),
    log: SILENT,
  })
  const server = await KafkaServer.start(0, {
    listeners: { SSL: tlsPort, SASL_SSL: saslPort },
    properties: {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': combined(authority.issue('broker')),
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': authority.ca,
      'listener.name.ssl.ssl.client.auth': 'required',
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
      [`${SASL}.plain.sasl.jaas.config`]: `${JAAS}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
      [`${SASL}.scram-sha-256.sasl.jaas.config`]: `${JAAS}.scram.ScramLoginModule required;`,
      [`${SASL}.scram-sha-512.sasl.jaas.config`]: `${JAAS}.scram.ScramLoginModule required;`,
      [`${SASL}.oauthbearer.sasl.jaas.config`]: `${JAAS}.oauthbearer.OAuthBearerLoginModule required;`,
      [`${SASL}.oauthbearer.sasl.server.callback.handler.class`]: `${JAAS}.oauthbearer.OAuthBearerValidatorCallbackHandler`,
      [`${SASL}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url`]: `${provider.issuer}/protocol/openid-connect/certs`,
      [`${SASL}.oauthbearer.sasl.oauthbearer.expected.issuer`]: provider.issuer,
      [`${SASL}.oauthbearer.sasl.oauthbearer.expected.audience`]: 'platform-mcp-gateway',
    },
    format: ['256', '512'].flatMap(bits => [
      '--add-scram',
      `SCRAM-SHA-${bits}=[name=${USER},password=${PASSWORD}]`,
    ]),
  })
  const passwordFile = join(dir, 'password')
  writeFileSync(passwordFile, `${PASSWORD}\n`)
  const tls = { KAFKA_TLS: 'true', KAFKA_CA_FILE: authority.ca }
  const sasl = { ...tls, KAFKA_BROKERS: `127.0.0.1:${saslPort}` }
  const password = { ...sasl, KAFKA_USERNAME: USER, KAFKA_PASSWORD_FILE: passwordFile }
  return {
    server,
    authority,
    ways: {
      'client certificate': {
        ...tls,
        KAFKA_BROKERS: `127.0.0.1:${tlsPort}`,
        KAFKA_CERT_FILE: client.cert,
        KAFKA_KEY_FILE: client.key,
      },
      plain: { ...password, KAFKA_SASL: 'plain' },
      'scram-sha-256': { ...password, KAFKA_SASL: 'scram-sha-256' },
      'scram-sha-512': { ...password, KAFKA_SASL: 'scram-sha-512' },
      oauthbearer: {
        ...sasl,
        KAFKA_SASL: 'oauthbearer',
        KAFKA_TOKEN_URL: `${provider.issuer}/protocol/openid-connect/token`,
        KAFKA_CLIENT_ID: 'demo-agent',
        KAFKA_CLIENT_SECRET: 'demo-agent-secret',
      },
    },
    async stop() {
      await server.stop()
      await provider.close()
    },
  }
}
