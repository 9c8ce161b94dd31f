/** The definitions of the metrics of this project. Names and labels are a public interface: existing ones are kept. */

import { counter, gauge, heldBy, histogram } from './metric-definition.ts'

/** Names that do not follow Prometheus conventions (`_total` for counters) are older than this table. */
export const METRICS = {
  ...heldBy('data-plane/stages', {
    platform_requests_total: counter('calls', 'Calls by consumer and status.', 'consumer', 'status'),
    platform_outcomes_total: counter('calls', 'Refused and failed calls, by outcome.', 'action', 'outcome'),
    platform_tool_calls_total: counter(
      'calls',
      'Calls by tool, tool set and outcome.',
      ...['tool', 'toolset', 'outcome'],
    ),
    platform_tool_duration_seconds: histogram('Duration of tool calls, including the backend.', 'tool'),
    platform_tenant_calls_total: counter('calls', 'Calls by tenant and outcome.', 'tenant', 'outcome'),
    platform_backend_calls_total: counter(
      'calls',
      'Calls that reached a backend, by backend origin and outcome.',
      ...['backend', 'outcome'],
    ),
    platform_refusals_total: counter(
      'calls',
      'Refused calls by reason and consumer.',
      ...['reason', 'consumer'],
    ),
    platform_rate_limited_total: counter(
      'calls',
      'Calls refused by a per-second or per-minute limit, by a burst limit, or by the rate limit of a tool.',
    ),
    platform_quota_exceeded_total: counter('calls', 'Calls refused by a daily or monthly quota.'),
    platform_request_duration_seconds: histogram('Duration of a call, including the backend.', 'action'),
    platform_backend_duration_seconds: histogram('Response time of the backend.'),
    platform_stage_duration_seconds: histogram(
      'Duration of a pipeline stage, measured in a sample of the calls (STAGE_TIMING_SAMPLE).',
      'stage',
    ),
    platform_internal_errors_total: counter('exceptions', 'Exceptions caught by the pipeline.', 'stage'),
    platform_calls_in_flight: gauge('calls', 'Calls that are in the pipeline now.'),
    platform_held_bytes: gauge(
      'bytes',
      'Estimated memory of the bodies and responses of calls (HELD_BYTES_MAX).',
    ),
    platform_held_bytes_refused_total: counter(
      'bodies',
      'Bodies and responses that were not kept because of HELD_BYTES_MAX.',
    ),
    platform_result_cache_hits_total: counter(
      'calls',
      'Calls that returned a cached result or shared the result of a call in flight.',
    ),
    platform_result_cache_misses_total: counter(
      'calls',
      'Cache misses: calls to cacheable tools for which the cache contained no result.',
    ),
    platform_response_cache_hits_total: counter(
      'calls',
      'Proxied calls that the gateway served from the response cache.',
    ),
    platform_response_cache_misses_total: counter(
      'calls',
      'Cacheable proxied calls that the gateway sent to the upstream.',
    ),
    platform_response_cache_confirmed_total: counter(
      'calls',
      'Proxied calls for which the upstream confirmed the cached response with status 304.',
    ),
    platform_response_cache_bytes: gauge('bytes', 'Total size of the cached API responses.'),
    platform_results_remembered: gauge('results', 'Tool results in the cache.'),
  }),

  ...heldBy('data-plane/http', {
    platform_attempts_refused_total: counter(
      'requests',
      'Requests refused with 429 before authentication, because of earlier failed attempts from the same client address.',
    ),
    platform_streams: gauge('streams', 'Open event streams.'),
    platform_streams_refused_total: counter(
      'streams',
      'Event streams refused by the stream limits.',
      'reason',
    ),
    platform_streams_ended_total: counter('streams', 'Ended event streams by reason.', 'reason'),
  }),

  ...heldBy('app/main', {
    platform_degraded: {
      ...gauge('boolean', '1 while the part has a fault that degrades the process, else 0.', 'part'),
      threads: 'max',
    },
    platform_unexpected_errors_total: counter(
      'errors',
      'Unexpected errors: unhandled rejections, error events without a listener, exceptions in request handlers.',
      'kind',
    ),
  }),

  ...heldBy('data-plane/follower', {
    platform_snapshot_file_damaged_total: counter(
      'files',
      'Process starts at which the snapshot in DATA_DIR was damaged.',
    ),
  }),

  ...heldBy('data-plane/snapshot', {
    platform_tools: { ...gauge('tools', 'Tools in the active snapshot.'), threads: 'max' },
  }),

  ...heldBy('app/main/workers', {
    platform_worker_info: gauge(
      'boolean',
      'Always 1; the labels name a worker thread, and the snapshot and the policy revision that this thread uses.',
      ...['worker', 'snapshot', 'policy_revision'],
    ),
    platform_workers: gauge('threads', 'Worker threads that serve calls.'),
  }),

  ...heldBy('net/server', {
    platform_http_server_info: {
      ...gauge('boolean', 'Always 1; the labels name the HTTP server and its build.', 'server', 'build'),
      threads: 'max',
    },
    platform_connections_refused_total: counter(
      'connections',
      'Connections closed before a request was accepted.',
      'reason',
    ),
  }),

  ...heldBy('net/egress', {
    platform_upstream_circuits_open: gauge(
      'upstreams',
      'Upstreams that are not called because they failed several times in a row.',
    ),
    platform_upstream_refused_total: counter(
      'calls',
      'Proxied calls refused because the circuit breaker of the upstream was open.',
    ),
    platform_upstream_retries_total: counter(
      'calls',
      'Retries of proxied calls, made because the previous attempt did not reach the upstream or because the retry rule of the API applied.',
    ),
    platform_upstream_addresses_unhealthy: {
      ...gauge('addresses', 'Upstream addresses that fail their health checks and are not called.'),
      threads: 'max',
    },
    platform_upstream_health_checks_total: counter('checks', 'Health checks of upstream addresses.'),
    platform_upstream_health_checks_failed_total: counter(
      'checks',
      'Health checks without a response, or with a status of 400 or more.',
    ),
    platform_mirrored_requests_total: counter(
      'requests',
      'Mirrored requests: copies that the gateway sent to the second upstream of an API.',
    ),
    platform_mirrored_requests_failed_total: counter(
      'requests',
      'Mirrored requests to which the second upstream did not respond.',
    ),
    platform_mirrored_requests_dropped_total: counter(
      'requests',
      'Mirrored requests that were not sent, because too many were in flight or the body was too long.',
    ),
    platform_upstream_retries_refused_total: counter(
      'calls',
      'Retries that were not made because the retry budget of the API was exhausted.',
    ),
  }),

  ...heldBy('net/egress/oauth', {
    platform_backend_tokens: gauge('tokens', 'Cached access tokens for backends.'),
    platform_backend_token_requests_total: counter(
      'requests',
      'Access token requests that the gateway sent to the authorization server of a backend.',
    ),
    platform_backend_token_failures_total: counter('requests', 'Access token requests that failed.'),
  }),

  ...heldBy('mcp/client', {
    platform_mcp_server_sessions: gauge('sessions', 'Open sessions with MCP servers.'),
    platform_mcp_server_circuits_open: gauge(
      'servers',
      'MCP servers that are not called because they failed several times in a row.',
    ),
    platform_mcp_server_connects_total: counter('attempts', 'Attempts to open a session with an MCP server.'),
    platform_mcp_server_resumed_total: counter(
      'sessions',
      'Sessions with MCP servers that this thread resumed; another thread, another instance or the previous process had opened them.',
    ),
    platform_mcp_server_retries_total: counter(
      'calls',
      'Retried calls to MCP servers: the server had not executed the previous attempt.',
    ),
    platform_mcp_server_refused_total: counter(
      'calls',
      'Calls refused because the circuit breaker of the MCP server was open.',
    ),
  }),

  ...heldBy('data-plane/sessions', {
    platform_sessions: {
      ...gauge('sessions', 'Active MCP sessions of this instance, or of all instances if REDIS_URL is set.'),
      threads: 'max',
    },
    platform_sessions_zombie: {
      ...gauge(
        'sessions',
        'MCP sessions that have no stream and have been idle for more than a third of their time to live.',
      ),
      threads: 'max',
    },
  }),

  ...heldBy('data-plane/quota', {
    platform_quota_usage_ratio: gauge('ratio', 'Used fraction of a quota, 0.0 to 1.0.', 'consumer', 'type'),
    platform_quota_store_up: gauge('boolean', '1 while the quota store responds, 0 while it does not.'),
    platform_quota_consumers: gauge('consumers', 'Consumers that have a slot in the quota table.'),
    platform_quota_evicted: counter(
      'slots',
      'Idle slots in the quota table, for consumers and for tool rate limits, that were evicted to make space for others.',
    ),
    platform_quota_turned_away: counter('calls', 'Calls refused because the quota table was full.'),
    platform_quota_assumed: gauge(
      'boolean',
      '1 if the quota journal was damaged at start (until the next restart), else 0. Without Redis, the daily and monthly limits then count as used up for consumers whose counts could not be read.',
    ),
    platform_quota_waited: counter('calls', 'Calls that waited for the quota store.'),
  }),

  ...heldBy('policy', {
    platform_policy_failures_total: counter(
      'decisions',
      'Policy evaluations that failed; each one denied a call.',
      'failure',
    ),
    platform_policy_swaps_total: counter('bundles', 'Policy bundles that replaced the active bundle.'),
    platform_policy_bundles_rejected_total: counter('bundles', 'Policy bundles that were rejected.'),
    platform_policy_shadow_compared: counter(
      'decisions',
      'Decisions of the candidate policy that were compared with decisions of the active policy; reset to 0 for each new candidate.',
    ),
    platform_policy_shadow_flips: counter(
      'decisions',
      'Decisions of the candidate policy that differ from those of the active policy; reset to 0 for each new candidate.',
    ),
    platform_decisions_remembered: gauge('decisions', 'Policy decisions in the cache.'),
    platform_decisions_dropped: counter('decisions', 'Decisions that the decision log dropped.'),
  }),

  ...heldBy('data-plane/metering', {
    platform_metering_events_total: counter('events', 'Metering events created.'),
    platform_metering_dropped_total: counter(
      'events',
      'Metering events lost because they could not be written to the spool.',
    ),
    platform_metering_held: gauge(
      'events',
      'Metering events in memory only, because the spool cannot be written.',
    ),
    platform_metering_unsynced_total: counter(
      'responses',
      'Responses sent before their metering event was on disk (METERING_DURABILITY=sync).',
    ),
    platform_metering_delivered_total: counter('events', 'Metering events delivered.'),
    platform_metering_dead_letter_total: counter('events', 'Metering events that Kafka refused permanently.'),
    platform_metering_delivery_failures_total: counter(
      'batches',
      'Failed attempts to deliver a batch of metering events; each batch is retried.',
    ),
    platform_metering_spool_dropped_total: counter(
      'events',
      'Metering events deleted before delivery because the spool had reached METERING_SPOOL_MAX.',
    ),
    platform_metering_damaged_total: counter(
      'events',
      'Metering events in the spool that could not be read, because they are damaged.',
    ),
    platform_metering_spool_bytes: gauge('bytes', 'Size of the metering spool.'),
    platform_metering_spool_segments: gauge('files', 'Segment files of the metering spool.'),
    platform_metering_consumed_total: counter('events', 'Metering events read from Kafka.'),
    platform_metering_unreadable_total: counter(
      'messages',
      'Messages in the Kafka topic for metering that are not metering events.',
    ),
  }),

  ...heldBy('control-plane/api', {
    platform_changes_total: counter(
      'changes',
      'Requests that changed the configuration, by action and by the consumer that sent the request; each request has an audit record.',
      ...['action', 'actor'],
    ),
  }),

  ...heldBy('control-plane/mail', {
    platform_mail_sent_total: counter('mails', 'Mails that the mail server has accepted.'),
    platform_mail_retries_total: counter('attempts', 'Failed attempts to send a mail, each retried.'),
    platform_mail_failed_total: counter(
      'mails',
      'Mails that the mail server refused permanently, or that failed after the last attempt.',
    ),
    platform_mail_omitted_total: counter(
      'mails',
      'Mails that were not written, because their tenant has reached its daily limit of mails.',
    ),
    platform_mail_queue_depth: gauge('mails', 'Pending mails.'),
  }),

  ...heldBy('control-plane/webhooks', {
    platform_webhook_delivered_total: counter('deliveries', 'Webhook deliveries that succeeded.'),
    platform_webhook_retries_total: counter(
      'attempts',
      'Failed attempts at a webhook delivery, each followed by a retry.',
    ),
    platform_webhook_failed_total: counter(
      'deliveries',
      'Webhook deliveries that failed after the last attempt.',
    ),
    platform_webhook_queue_depth: gauge('deliveries', 'Pending webhook deliveries.'),
    platform_webhook_oldest_due_seconds: gauge(
      'seconds',
      'Time since the oldest pending webhook delivery became due.',
    ),
    platform_webhook_in_flight: gauge('deliveries', 'Webhook deliveries that this instance is sending now.'),
  }),
}

export type MetricName = keyof typeof METRICS
