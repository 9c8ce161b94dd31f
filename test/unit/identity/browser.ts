/** Just enough of a browser for login flows: follows redirects by hand, keeps cookies and sends all of them to every host. No assertions. */

export class Browser {
  readonly #cookies = new Map<string, string>()

  /** As a `Cookie` header has them. */
  get cookies(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  /** One exchange, redirects not followed. */
  async open(url: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(url, {
      redirect: 'manual',
      method: form === undefined ? 'GET' : 'POST',
      headers: { cookie: this.cookies },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair] = line.split(';')
      const at = pair!.indexOf('=')
      const value = pair!.slice(at + 1)
      if (value === '' || /expires=Thu, 01 Jan 1970/i.test(line)) this.#cookies.delete(pair!.slice(0, at))
      else this.#cookies.set(pair!.slice(0, at), value)
    }
    return response
  }

  /** Follows up to 12 redirects until a page comes or the address begins with `until`, which is returned without opening it. */
  async follow(
    url: string,
    until: string,
    form?: Record<string, string>,
  ): Promise<{ url: string; response: Response | undefined }> {
    for (let hops = 0; hops < 12; hops++) {
      if (url.startsWith(until)) return { url, response: undefined }
      const response = await this.open(url, form)
      form = undefined
      const location = response.headers.get('location')
      if (location === null) return { url, response }
      await response.body?.cancel()
      url = new URL(location, url).href
    }
    throw new Error('too many redirects')
  }
}
