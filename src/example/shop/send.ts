/** Writes responses and problems to the connection. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { ShopProblem } from './problem.ts'
import type { ShopResponse } from './request.ts'

/** @throws errors of the line source; the response is then truncated, because its head has been sent. */
export async function sendShopResponse(
  response: ServerResponse,
  reply: ShopResponse,
  signal: AbortSignal,
): Promise<void> {
  const headers = { ...reply.headers, 'cache-control': 'no-store' }
  if (reply.lines !== undefined) {
    response.writeHead(reply.status, { ...headers, 'content-type': 'application/x-ndjson' })
    for await (const line of reply.lines)
      if (!response.write(`${JSON.stringify(line)}\n`)) await once(response, 'drain', { signal })
    response.end()
    return
  }
  if (reply.body === undefined) {
    response.writeHead(reply.status, headers).end()
    return
  }
  end(response, reply.status, headers, 'application/json', reply.body)
}

/** Any error other than a Problem is a bug: 500 without details. */
export function sendProblem(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const problem =
    error instanceof ShopProblem
      ? error
      : new ShopProblem(
          500,
          'bug',
          'The shop could not process the request.',
          'The fault is in the shop, not in the request.',
        )
  end(response, problem.status, problem.headers, 'application/problem+json', problem.document())
}

function end(
  response: ServerResponse,
  status: number,
  headers: { readonly [name: string]: string },
  type: string,
  body: unknown,
): void {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { ...headers, 'content-type': type, 'content-length': Buffer.byteLength(text) })
    .end(text)
}
