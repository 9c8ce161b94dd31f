/** The one Kafka client of a process: brokers, time-outs, and its log redirected to the gateway's. It sends and receives nothing. */
import { Kafka, logLevel } from 'kafkajs'
import type { Log } from '../../../shared/telemetry/log.ts'

export interface KafkaOptions {
  /** `host:port`. */
  readonly brokers: readonly string[]
  readonly clientId: string
  readonly topic: string
  readonly log: Log
}

/** The client does not retry: its retries would hide how long a batch has been waiting. */
export function kafkaClient({ brokers, clientId, log }: KafkaOptions): Kafka {
  return new Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: 3000,
    requestTimeout: 10_000,
    retry: { retries: 0 },
    logLevel: logLevel.ERROR,
    // the caller receives every failure as an error; these lines repeat it per attempt
    logCreator: () => entry => log.debug({ kafka: entry.log.message }, 'Kafka client'),
  })
}
