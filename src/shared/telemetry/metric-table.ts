/** Every metric of the gateway: type, unit, labels, help text and where its value comes from. It reads no value; names and labels are an interface and are kept. */

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly unit: string
  readonly help: string
  /** Folder of `src` that holds the value. */
  readonly source: string
  readonly labels?: readonly string[]
  /** How the values of worker threads are combined; `sum` unless every thread reports the same value. */
  readonly threads?: 'max'
}

const SNAPSHOT = 'data-plane/snapshot'
const STAGES = 'data-plane/stages'
const HTTP = 'data-plane/http'
const SESSIONS = 'data-plane/sessions'
const QUOTA = 'data-plane/quota'
const METERING = 'data-plane/metering'
const WEBHOOKS = 'control-plane/webhooks'
const POLICY = 'shared/policy'
const EGRESS = 'shared/egress'
const SERVER = 'shared/server'
const THREADS = 'app/main/workers'

/** Names that do not follow Prometheus conventions (`_total` for counters) are older than this table. */
export const METRICS = {
  platform_requests_total: counter('calls', STAGES, 'Calls by consumer and status.', 'consumer', 'status'),
  platform_outcomes_total: counter(
    'calls',
    STAGES,
    'Failed calls by action and outcome.',
    'action',
    'outcome',
  ),
  platform_rate_limited_total: counter(
    'calls',
    STAGES,
    'Calls refused by a limit per second or minute, a burst limit or the rate limit of a tool.',
  ),
  platform_quota_exceeded_total: counter('calls', STAGES, 'Calls refused by a daily or monthly quota.'),
  platform_request_duration_seconds: histogram(
    STAGES,
    'Time in the pipeline, including the backend.',
    'action',
  ),
  platform_backend_duration_seconds: histogram(STAGES, 'Response time of the backend.'),
  platform_stage_duration_seconds: histogram(
    STAGES,
    'Time in a stage, for sampled calls (STAGE_TIMING_SAMPLE).',
    'stage',
  ),
  platform_internal_errors_total: counter(
    'exceptions',
    STAGES,
    'Exceptions caught by the pipeline.',
    'stage',
  ),
  platform_attempts_refused_total: counter(
    'requests',
    HTTP,
    'Requests refused with 429 before authentication, because of earlier failed attempts from their address.',
  ),
  platform_calls_in_flight: gauge('calls', STAGES, 'Calls in the pipeline.'),
  platform_result_cache_hits_total: counter(
    'calls',
    STAGES,
    'Calls that returned a cached result or shared the result of a call in flight.',
  ),
  platform_result_cache_misses_total: counter(
    'calls',
    STAGES,
    'Calls of cacheable tools that found no result in the cache.',
  ),
  platform_results_remembered: gauge('results', STAGES, 'Tool results in the cache.'),
  platform_tools: { ...gauge('tools', SNAPSHOT, 'Tools in the active snapshot.'), threads: 'max' },
  platform_workers: gauge('threads', THREADS, 'Worker threads that serve calls.'),

  platform_connections_refused_total: counter(
    'connections',
    SERVER,
    'Connections closed before a request was accepted.',
    'reason',
  ),
  platform_streams: gauge('streams', HTTP, 'Open event streams.'),
  platform_streams_refused_total: counter(
    'streams',
    HTTP,
    'Event streams refused by the stream limits.',
    'reason',
  ),
  platform_streams_ended_total: counter('streams', HTTP, 'Ended event streams by reason.', 'reason'),
  platform_upstream_circuits_open: gauge(
    'upstreams',
    EGRESS,
    'Upstreams that are not called because they failed several times in a row.',
  ),
  platform_upstream_refused_total: counter(
    'calls',
    EGRESS,
    'Proxied calls refused because the circuit of the upstream is open.',
  ),
  platform_upstream_retries_total: counter(
    'calls',
    EGRESS,
    'Proxied calls retried because the first attempt never reached the upstream.',
  ),

  platform_sessions: {
    ...gauge('sessions', SESSIONS, 'Live MCP sessions; with REDIS_URL, those of all instances.'),
    threads: 'max',
  },
  platform_sessions_zombie: {
    ...gauge(
      'sessions',
      SESSIONS,
      'MCP sessions without a stream that have been idle for more than a third of their time to live.',
    ),
    threads: 'max',
  },

  platform_quota_usage_ratio: gauge('ratio', QUOTA, 'Used share of a quota, 0.0 to 1.0.', 'consumer', 'type'),
  platform_quota_store_up: gauge('boolean', QUOTA, '1 while the quota store responds, 0 while it does not.'),
  platform_quota_assumed: gauge(
    'boolean',
    QUOTA,
    '1 while the damage of the quota journal found at the start is reported; without Redis, limits then count as used for consumers whose counts could not be read.',
  ),
  platform_quota_consumers: gauge('consumers', QUOTA, 'Consumers that have a slot in the quota table.'),
  platform_quota_evicted: counter(
    'slots',
    QUOTA,
    'Slots of idle consumers and tool buckets that were evicted for others.',
  ),
  platform_quota_turned_away: counter('calls', QUOTA, 'Calls refused because the quota table was full.'),
  platform_quota_waited: counter('calls', QUOTA, 'Calls that waited for the quota store.'),

  platform_policy_failures_total: counter(
    'decisions',
    POLICY,
    'Policy evaluations that failed; each one denied a call.',
    'failure',
  ),
  platform_policy_swaps_total: counter('bundles', POLICY, 'Policy bundles that replaced another one.'),
  platform_policy_bundles_rejected_total: counter('bundles', POLICY, 'Policy bundles that were rejected.'),
  platform_policy_shadow_compared: counter(
    'decisions',
    POLICY,
    'Decisions of the candidate policy compared with the active one; restarts at 0 with each candidate.',
  ),
  platform_policy_shadow_flips: counter(
    'decisions',
    POLICY,
    'Decisions of the candidate policy that differ from the active one; restarts at 0 with each candidate.',
  ),
  platform_decisions_remembered: gauge('decisions', POLICY, 'Policy decisions in the cache.'),
  platform_decisions_dropped: counter('decisions', POLICY, 'Decisions missing in the decision log.'),

  platform_metering_events_total: counter('events', METERING, 'Metering events created.'),
  platform_metering_dropped_total: counter(
    'events',
    METERING,
    'Metering events lost because they could not be written to the spool.',
  ),
  platform_metering_unsynced_total: counter(
    'responses',
    METERING,
    'Responses sent before their metering event was on disk (METERING_DURABILITY=sync).',
  ),
  platform_metering_delivered_total: counter('events', METERING, 'Metering events delivered.'),
  platform_metering_delivery_failures_total: counter(
    'batches',
    METERING,
    'Batches of metering events whose delivery failed; each is retried.',
  ),
  platform_metering_spool_dropped_total: counter(
    'events',
    METERING,
    'Metering events deleted before delivery because the spool had reached METERING_SPOOL_MAX.',
  ),
  platform_metering_damaged_total: counter(
    'events',
    METERING,
    'Damaged metering events in the spool that could not be read.',
  ),
  platform_metering_spool_bytes: gauge('bytes', METERING, 'Size of the spool.'),
  platform_metering_spool_segments: gauge('files', METERING, 'Segment files of the spool.'),
  platform_metering_consumed_total: counter('events', METERING, 'Metering events read from Kafka.'),
  platform_metering_unreadable_total: counter(
    'messages',
    METERING,
    'Messages of the Kafka topic that are not metering events.',
  ),

  platform_webhook_delivered_total: counter('deliveries', WEBHOOKS, 'Webhook deliveries that succeeded.'),
  platform_webhook_retries_total: counter(
    'attempts',
    WEBHOOKS,
    'Failed attempts of webhook deliveries that will be retried.',
  ),
  platform_webhook_failed_total: counter(
    'deliveries',
    WEBHOOKS,
    'Webhook deliveries that failed after the last attempt.',
  ),
  platform_webhook_queue_depth: gauge('deliveries', WEBHOOKS, 'Pending webhook deliveries.'),
  platform_webhook_oldest_due_seconds: gauge(
    'seconds',
    WEBHOOKS,
    'How long the oldest webhook delivery has been due.',
  ),
  platform_webhook_in_flight: gauge(
    'deliveries',
    WEBHOOKS,
    'Webhook deliveries this instance is sending now.',
  ),
} as const satisfies Readonly<Record<string, MetricDefinition>>

export type MetricName = keyof typeof METRICS

function define<T extends MetricDefinition['type']>(
  type: T,
  unit: string,
  source: string,
  help: string,
  labels: readonly string[],
) {
  return { type, unit, source, help, labels }
}

function counter(unit: string, source: string, help: string, ...labels: readonly string[]) {
  return define('counter', unit, source, help, labels)
}

function gauge(unit: string, source: string, help: string, ...labels: readonly string[]) {
  return define('gauge', unit, source, help, labels)
}

function histogram(source: string, help: string, ...labels: readonly string[]) {
  return define('histogram', 'seconds', source, help, labels)
}
