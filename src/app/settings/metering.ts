/** The settings of metering events and of their delivery to Kafka. It connects to nothing. */
import { readKafka } from './kafka.ts'
import type { Reader } from './reader.ts'

const BROKER = /^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):\d{1,5}$/
/** Less could not hold a few segments. */
const MIN_SPOOL_BYTES = 4 * 2 ** 20

export function readMetering(read: Reader) {
  const brokers = read.list('KAFKA_BROKERS', '')
  for (const broker of brokers) {
    if (!BROKER.test(broker))
      read.fault(
        'KAFKA_BROKERS',
        `contains "${broker}", which is not a host and a port.`,
        'List the brokers as host:port, separated by commas.',
      )
  }
  const topic = read.text('METERING_TOPIC', 'platform.metering')
  if (!/^[A-Za-z0-9._-]{1,249}$/.test(topic))
    read.fault(
      'METERING_TOPIC',
      `is "${topic}", which is not a valid topic name.`,
      'Use at most 249 letters, digits, dots, hyphens and underscores.',
    )
  return {
    /** The switch: exports events to the brokers. They are made in any case. */
    enabled: read.flag('METERING_ENABLED', false),
    /** `host:port`; empty: events stay in the spool. */
    brokers,
    topic,
    kafka: readKafka(read),
    format: read.oneOf('METERING_FORMAT', ['protobuf', 'json'], 'protobuf'),
    durability: read.oneOf('METERING_DURABILITY', ['batch', 'sync'], 'batch'),
    spoolMaxBytes: read.bytes('METERING_SPOOL_MAX', '1GiB', MIN_SPOOL_BYTES),
  } as const
}
