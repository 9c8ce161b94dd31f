/** Migration 5: metering events folded into hours, their latencies as histograms, and the marks that keep a repeat from counting twice. */

const ID = 'text collate "C"'
const OWNER = `${ID} not null references tenants (id) on delete cascade`
const MINE = `(tenant_id = current_setting('toolgate.tenant', true) or current_setting('toolgate.tenant', true) = '*')`

const guard = (table: string): readonly string[] => [
  `alter table ${table} enable row level security`,
  `alter table ${table} force row level security`,
  `create policy own_rows on ${table} using ${MINE} with check ${MINE}`,
]

export const statements: readonly string[] = [
  // api_id '' = calls that belong to no API. The API may have gone: its history stays with the tenant.
  `create table metering_hours (
  tenant_id ${OWNER},
  api_id ${ID} not null,
  hour timestamptz not null,
  requests bigint not null,
  errors bigint not null,
  primary key (tenant_id, hour, api_id))`,

  // One row for each bucket that has any; buckets as in model/latency-histogram.ts.
  `create table metering_latencies (
  tenant_id ${OWNER},
  api_id ${ID} not null,
  hour timestamptz not null,
  bucket smallint not null,
  requests bigint not null,
  primary key (tenant_id, hour, api_id, bucket))`,

  // Ids of one writer ascend, and every source gives them in order: the last one taken tells which are repeats.
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
