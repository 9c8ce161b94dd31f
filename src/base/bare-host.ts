/** Hosts of addresses without the brackets that a URL puts around IPv6. */

/** @param host as in a URL: `[::1]` → `::1`; other hosts stay */
export function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

/** In the form that the address guard compares. @throws TypeError for a text that is not a URL */
export function hostOf(url: string): string {
  return bareHost(new URL(url).hostname)
}
