/** Options of Kafka clients, and their creation with TLS, SASL and a log. */
import { Kafka, logLevel, type SASLOptions } from 'kafkajs'
import { type ClientTls, clientTlsOptions, presentText, type Renewable } from '../../../net/tls/client-tls.ts'
import type { Log } from '../../../telemetry/log.ts'

/** How the process authenticates to the brokers. The client asks for password and token with each new connection. */
export type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
      readonly username: string
      readonly password: Renewable
    }
  | { readonly mechanism: 'oauthbearer'; readonly token: () => Promise<string> }

export interface KafkaOptions {
  /** `host:port`. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly topic: string
  readonly tls: ClientTls | undefined
  readonly sasl: KafkaSasl | undefined
  readonly log: Log
}

/** By default the client does not retry: its retries would hide how long a batch has been waiting. */
export function kafkaClient({ brokers, clientId, tls, sasl, log }: KafkaOptions): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId,
    ...(tls === undefined ? {} : { ssl: clientTlsOptions(tls) }),
    ...(sasl === undefined ? {} : { sasl: saslOptions(sasl) }),
    connectionTimeout: 3000,
    requestTimeout: 10_000,
    retry: { retries: 0 },
    logLevel: logLevel.ERROR,
    // the caller receives every failure as an error; these lines repeat it per attempt
    logCreator: () => entry => log.debug({ kafka: entry.log.message }, 'Kafka client'),
  })
}

function saslOptions(sasl: KafkaSasl): SASLOptions {
  if (sasl.mechanism === 'oauthbearer')
    return {
      mechanism: 'oauthbearer',
      oauthBearerProvider: async () => ({ value: await sasl.token() }),
    }
  const { mechanism, username, password } = sasl
  return {
    mechanism,
    username,
    // read by the client for each connection
    get password() {
      return presentText(password)
    },
  }
}
