/** Writes answers and problems to the wire. It decides nothing about them. */
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Problem } from './problem.ts'
import type { ShopResponse } from './request.ts'

/** @throws what the source of the lines throws; then the answer is cut, because its head has gone. */
export async function send(
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

/** Anything that is no Problem is a bug: 500, and the caller is told no more. */
export function sendProblem(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const problem =
    error instanceof Problem
      ? error
      : new Problem(500, 'bug', 'The shop failed.', 'This is a fault of the shop, not of the request.')
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
