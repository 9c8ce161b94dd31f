/** The one Kafka client of a process: brokers, time-outs, and its log turned into ours. It sends and receives nothing. */
import { Kafka, logLevel } from 'kafkajs'
import type { Log } from '../../../shared/telemetry/log.ts'

export interface KafkaOptions {
  /** `host:port`. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly topic: string
  readonly log: Log
}

/** Retries are ours: theirs would hide from us how long a batch has been waiting. */
export function kafkaClient({ brokers, clientId, log }: KafkaOptions): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: 3000,
    requestTimeout: 10_000,
    retry: { retries: 0 },
    logLevel: logLevel.ERROR,
    // every failure reaches whoever asked as an error too; these lines repeat it per attempt
    logCreator: () => entry => log.debug({ kafka: entry.log.message }, 'Kafka client'),
  })
}
