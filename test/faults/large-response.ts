/** What backends respond where much is wanted: JSON just below the default of `BACKEND_RESPONSE_MAX`. */

export const LARGE = Buffer.from(`[${'{"name":"a record","id":1234567890},'.repeat(8 * 29_000)}{}]`)
