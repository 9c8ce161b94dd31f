/** Reads `TOKEN_EXCHANGE_URLS`: token endpoints that get tokens of callers besides that of the issuer. */
import { exchangeUrl } from '../../net/egress/oauth/exchange-endpoints.ts'
import type { Reader } from './reader.ts'

export function readTokenExchangeUrls(read: Reader): readonly string[] {
  const urls = read.list('TOKEN_EXCHANGE_URLS', '')
  if (urls.some(url => exchangeUrl(url) === undefined))
    read.fault(
      'TOKEN_EXCHANGE_URLS',
      // without the address, whose user info may be a secret
      'contains an entry that is not an absolute http or https URL without user name, password and fragment.',
      'List the exact URLs of token endpoints, such as "https://login.example.com/oauth/token".',
    )
  return urls
}
