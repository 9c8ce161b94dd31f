/** The error of the shop that becomes a problem document, and functions that make common ones. It sends none: `send.ts` does. */

/** One faulty field: a JSON Pointer into the body, or the name of a query, path or header parameter. */
export interface ShopFieldFault {
  readonly field: string
  readonly message: string
}

export class ShopProblem extends Error {
  readonly status: number
  readonly slug: string
  readonly title: string
  readonly faults: readonly ShopFieldFault[]
  readonly headers: { readonly [name: string]: string }

  constructor(
    status: number,
    slug: string,
    title: string,
    detail: string,
    more: {
      readonly faults?: readonly ShopFieldFault[]
      readonly headers?: { readonly [name: string]: string }
    } = {},
  ) {
    super(detail)
    this.name = 'Problem'
    this.status = status
    this.slug = slug
    this.title = title
    this.faults = more.faults ?? []
    this.headers = more.headers ?? {}
  }

  /** The document of RFC 9457 §3; `errors` is our extension member. */
  document(): object {
    return {
      type: `urn:shop:problem:${this.slug}`,
      title: this.title,
      status: this.status,
      detail: this.message,
      ...(this.faults.length === 0 ? undefined : { errors: this.faults }),
    }
  }
}

export function shopInvalid(faults: readonly ShopFieldFault[]): ShopProblem {
  const detail = faults.map(fault => `${fault.field === '' ? 'The body' : fault.field} ${fault.message}`)
  return new ShopProblem(400, 'invalid', 'The input is not valid.', `${detail.join('; ')}.`, { faults })
}

export function shopNotFound(kind: string, id: string): ShopProblem {
  return new ShopProblem(404, 'not-found', 'Not found.', `The ${kind} ${id} does not exist.`)
}

/** The state of the shop does not allow what was asked. */
export function shopConflict(slug: string, detail: string): ShopProblem {
  return new ShopProblem(409, slug, 'The state of the shop does not allow this request.', detail)
}

/** Everything in memory is bounded; a restart empties it. */
export function full(kind: string, limit: number): ShopProblem {
  return new ShopProblem(
    507,
    'full',
    'The storage of the shop is full.',
    `The shop stores at most ${limit} ${kind}. Delete some, or restart the shop.`,
  )
}
