/** Requests to the server side of the console, which adds the access token; their errors; the CSRF token. */
import type { List } from './types.ts'

/** Set by the session: the token that proves that this page sends a request, and what happens when the session has ended. */
export const page = { csrf: '', onSignedOut: (_reason: string): void => {} }

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  /** Invalid fields: name and reason. */
  readonly fields: readonly { readonly field: string; readonly message: string }[]
  /** For a denial by the policy, when it was logged. */
  readonly decisionId: string | undefined

  constructor(status: number, body: unknown) {
    const { error, message, decision_id } = (body ?? {}) as Record<string, unknown>
    const problem =
      typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : undefined
    super(String(problem?.message ?? message ?? `The server responded with status ${status}.`))
    this.status = status
    this.code = String(problem?.code ?? error ?? status)
    this.fields = Array.isArray(problem?.details) ? (problem.details as ApiError['fields']) : []
    this.decisionId = typeof decision_id === 'string' ? decision_id : undefined
  }
}

export interface RequestOptions {
  readonly method?: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, instead of `body`; the headers name its type. */
  readonly content?: string | FormData
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** True: a response with an error status is returned, except 401, which is thrown. */
  readonly anyStatus?: boolean
}

/** Waits before a read is repeated: the server is busy, or its database is unavailable for a moment. */
const RETRY_AFTER_MS = [500, 1_000, 2_000]

/** A read that fails for a moment is repeated: without it a page would lack a part until it is loaded again. @param path below `api/`. @throws ApiError for a status from 400 */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', anyStatus, signal } = options
  const delays = method === 'GET' && anyStatus !== true ? RETRY_AFTER_MS : []
  for (const delayMs of delays) {
    try {
      return await requestOnce(path, options)
    } catch (failure) {
      if (!isPassing(failure) || signal?.aborted === true) throw failure
    }
    await new Promise(resolve => setTimeout(resolve, delayMs))
    signal?.throwIfAborted()
  }
  return requestOnce(path, options)
}

/** `fetch` fails with a TypeError when no response comes. */
function isPassing(failure: unknown): boolean {
  return failure instanceof ApiError ? failure.status === 503 : failure instanceof TypeError
}

async function requestOnce(path: string, options: RequestOptions): Promise<Response> {
  const { method = 'GET', body, headers, signal } = options
  const isJson = body !== undefined && options.content === undefined
  const init: RequestInit = {
    method,
    headers: {
      ...(isJson ? { 'content-type': 'application/json' } : {}),
      ...(method === 'GET' ? {} : { 'x-csrf-token': page.csrf }),
      ...headers,
    },
    ...(isJson ? { body: JSON.stringify(body) } : {}),
    ...(options.content === undefined ? {} : { body: options.content }),
    ...(signal === undefined ? {} : { signal }),
  }
  const response = await fetch(new URL(`api/${path}`, document.baseURI), init)
  if (response.ok || (options.anyStatus === true && response.status !== 401)) return response
  const failure = new ApiError(response.status, await response.json().catch(() => undefined))
  if (failure.code === 'signed_out') page.onSignedOut(failure.message)
  throw failure
}

async function json<T>(path: string, options?: RequestOptions): Promise<T> {
  const response = await request(path, options)
  return (response.status === 204 ? undefined : await response.json()) as T
}

/** The control plane, below `/v1`. */
export function control<T>(path: string, options?: RequestOptions): Promise<T> {
  return json(`control/v1/${path}`, options)
}

/** For more than 2,000 items a page shows the first, as lists to choose from are not usable beyond. */
const MAX_PAGES = 20

/** All pages of a list of the control plane as one. @param path may have a query, without `page` and `limit` */
export async function controlAll<T>(path: string, options?: RequestOptions): Promise<List<T>> {
  const items: T[] = []
  for (let at = 1; ; at++) {
    const query = `${path.includes('?') ? '&' : '?'}limit=100&page=${at}`
    const list = await control<List<T>>(path + query, options)
    items.push(...list.items)
    if (at >= Math.min(list.total_pages, MAX_PAGES)) return { ...list, items, page: 1, total_pages: 1 }
  }
}

/** The gateway. */
export function gateway<T>(path: string, options?: RequestOptions): Promise<T> {
  return json(`gateway/${path}`, options)
}

export function permissionsOf<T>(tenant: string | undefined): Promise<T> {
  return json('permissions', tenant === undefined ? {} : { headers: { 'x-tenant-id': tenant } })
}

/** A query string with `?`, without absent values. */
export function queryOf(params: Readonly<Record<string, string | number | undefined | null>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(params))
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value))
  const text = search.toString()
  return text === '' ? '' : `?${text}`
}
