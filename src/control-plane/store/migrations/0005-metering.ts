/** Migration 5: metering events aggregated by hour, latency histograms, and the marks by which repeated events are recognized. */
import { guard, ID, OWNER } from './row-security.ts'

export const statements: readonly string[] = [
  // api_id '' = calls without an API. There is no foreign key: the history of a deleted API stays with the tenant.
  `create table metering_hours (
  tenant_id ${OWNER},
  api_id ${ID} not null,
  hour timestamptz not null,
  requests bigint not null,
  errors bigint not null,
  primary key (tenant_id, hour, api_id))`,

  // One row for each bucket in use; buckets as in model/latency-histogram.ts.
  `create table metering_latencies (
  tenant_id ${OWNER},
  api_id ${ID} not null,
  hour timestamptz not null,
  bucket smallint not null,
  requests bigint not null,
  primary key (tenant_id, hour, api_id, bucket))`,

  // Event ids of one writer ascend, and every source delivers them in order: ids up to the last one counted are repeats.
  `create table metering_marks (
  writer text not null,
  source text not null,
  last_event_id text not null,
  events bigint not null,
  updated_at timestamptz not null,
  primary key (writer, source))`,
  `create index metering_marks_age on metering_marks (updated_at)`,
  ...guard('metering_hours'),
  ...guard('metering_latencies'),
]
