/** Migration 6: columns for sealed headers of webhooks, and for whose keys a webhook receives. */
export const statements: readonly string[] = [
  // custom_headers keeps the names; sealed_headers has the values, under the key that headers_key_id names.
  `alter table webhooks add column sealed_headers text`,
  `alter table webhooks add column headers_key_id text`,
  // An application, or "*" for every application. Creators of earlier webhooks are unknown: these receive no keys.
  `alter table webhooks add column keys_of text`,
]
