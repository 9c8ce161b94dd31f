/** Sends load with autocannon and checks every answer. It starts no server. */
import autocannon from 'autocannon'
import type { LoadRequest } from './requests.ts'

export interface Shot {
  readonly requestsPerSecond: number
  readonly requests: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

export interface ShotOptions {
  readonly url: string
  readonly request: LoadRequest
  readonly connections: number
  readonly seconds: number
  /**
   * Open loop: so many requests a second whatever the answers do, with the waiting of those that could not be sent in time counted
   * (autocannon corrects the histogram for coordinated omission when a rate is set). Absent: as many as the connections carry.
   */
  readonly perSecond?: number
}

/** @throws Error when one answer was wrong: a fast wrong answer is no figure */
export async function shoot({ url, request, connections, seconds, perSecond }: ShotOptions): Promise<Shot> {
  const result = await autocannon({
    url: url + request.path,
    method: request.method,
    headers: { ...request.headers },
    ...(request.body === undefined ? {} : { body: request.body }),
    connections,
    duration: seconds,
    verifyBody: (body: unknown) => String(body).includes(request.holds),
    ...(perSecond === undefined ? {} : { overallRate: perSecond }),
  } as autocannon.Options)
  const wrong = result.mismatches + result.non2xx + result.errors + result.timeouts
  if (wrong > 0)
    throw new Error(
      `${url}${request.path}: ${wrong} wrong answers of ${result.requests.total}, the run does not count`,
    )
  const { p50, p99, p99_9 } = result.latency
  return {
    requestsPerSecond: result.requests.average,
    requests: result.requests.total,
    p50Ms: p50,
    p99Ms: p99,
    p999Ms: p99_9,
  }
}
