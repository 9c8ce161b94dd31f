/** Migration 6: sealed headers of webhooks, and whose keys a webhook receives. Headers stored before are sealed by the next start. */
export const statements: readonly string[] = [
  // custom_headers keeps the names; sealed_headers has the values, under the key that headers_key_id names.
  `alter table webhooks add column sealed_headers text`,
  `alter table webhooks add column headers_key_id text`,
  // An application, or "*" for every application. Creators of earlier webhooks are unknown: these receive no keys.
  `alter table webhooks add column keys_of text`,
]
