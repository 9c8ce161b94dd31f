/** Sends one HTTP request and reads the whole response; a failure is a response with status 0. */
import { Agent, request } from 'node:http'

export interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly timeoutMs?: number
}

export interface Got {
  /** 0 without a complete response. */
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The body, or why there is no response. */
  readonly text: string
}

const TIMEOUT_MS = 30_000
/** Idle connections are closed before any server closes them, so that no request meets a closing connection. */
const agent = new Agent({ keepAlive: true, maxSockets: 256, timeout: 1_000 })

export function send(url: string, { method = 'GET', headers, body, timeoutMs }: Sent = {}): Promise<Got> {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  return new Promise(resolve => {
    const fail = (error: Error): void => resolve({ status: 0, headers: {}, text: error.message })
    const call = request(
      url,
      {
        method,
        agent,
        signal: AbortSignal.timeout(timeoutMs ?? TIMEOUT_MS),
        headers: {
          ...headers,
          ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }),
        },
      },
      response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', fail)
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    call.on('error', fail)
    call.end(bytes)
  })
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
export function jsonOf({ text }: Got): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
