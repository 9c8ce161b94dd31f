/** Builds the options for access to Kafka from the settings, with the source of OAuth tokens. It connects to no broker. */

import { hostOf } from '../../base/bare-host.ts'
import type { KafkaOptions, KafkaSasl } from '../../data-plane/metering/kafka/client.ts'
import { ClientCredentials } from '../../identity/client-credentials.ts'
import { createEgress } from '../../net/egress/client.ts'
import { presentText } from '../../net/tls/client-tls.ts'
import type { KafkaSaslSettings } from '../settings/kafka.ts'
import type { Settings } from '../settings.ts'

interface KafkaAccess extends Pick<KafkaOptions, 'brokers' | 'topic' | 'tls' | 'sasl'> {
  /** Closes the connections to the token endpoint. */
  close(): Promise<void>
}

export function accessKafka({ brokers, topic, kafka }: Settings['metering']): KafkaAccess {
  const { sasl, close } = accessSasl(kafka.sasl)
  return { brokers, topic, tls: kafka.tls, sasl, close }
}

function accessSasl(sasl: KafkaSaslSettings | undefined): {
  readonly sasl: KafkaSasl | undefined
  close(): Promise<void>
} {
  const close = (): Promise<void> => Promise.resolve()
  if (sasl?.mechanism !== 'oauthbearer') return { sasl, close }
  const { mechanism } = sasl
  if ('token' in sasl) return { sasl: { mechanism, token: async () => presentText(sasl.token) }, close }
  const { tokenUrl, clientId, clientSecret, scope } = sasl
  // the operator configured the address: it may be private
  const egress = createEgress({ allow: [hostOf(tokenUrl)], allowLoopback: true })
  const credentials = new ClientCredentials({
    egress,
    at: { tokenUrl },
    clientId,
    get clientSecret() {
      return presentText(clientSecret)
    },
    scope,
    names: 'KAFKA_CLIENT_ID and KAFKA_CLIENT_SECRET',
    now: Date.now,
  })
  return { sasl: { mechanism, token: () => credentials.token() }, close: () => egress.close() }
}
